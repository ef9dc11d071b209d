#include "bind.hpp"
#include "hocket/error.hpp"
#include "hocket/topology/graph.hpp"
#include "hocket/topology/measures.hpp"

namespace hocket::bind {
namespace {

using topology::Graph;
using topology::Link;

void init_graph(Graph* self, int32_t num_ranks, int32_t num_nodes, In<int32_t> src, In<int32_t> dst,
                In<int64_t> latency_ps, In<int64_t> bandwidth) {
  if (src.size() != dst.size() || src.size() != latency_ps.size() || src.size() != bandwidth.size()) {
    throw TopologyError("link columns differ in length");
  }
  std::vector<Link> links(src.size());
  for (size_t id = 0; id < links.size(); id++) {
    links[id] = {src.data()[id], dst.data()[id], latency_ps.data()[id], bandwidth.data()[id]};
  }
  new (self) Graph(num_ranks, num_nodes, std::move(links));
}

}  // namespace

void bind_topology(nb::module_& m) {
  nb::class_<Graph>(m, "Graph")
      .def("__init__", &init_graph, "num_ranks"_a, "num_nodes"_a, "src"_a, "dst"_a, "latency_ps"_a, "bandwidth"_a)
      .def_prop_ro("num_ranks", &Graph::num_ranks)
      .def_prop_ro("num_nodes", &Graph::num_nodes)
      .def("reversed", &Graph::reversed);
  m.def("require_connected", &topology::require_connected, "graph"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace hocket::bind
