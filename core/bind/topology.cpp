#include "bind.hpp"
#include "hocket/error.hpp"
#include "hocket/topology/access.hpp"
#include "hocket/topology/graph.hpp"
#include "hocket/topology/measures.hpp"
#include "hocket/topology/paths.hpp"
#include "hocket/topology/routing.hpp"
#include "hocket/topology/symmetry.hpp"

namespace hocket::bind {
namespace {

using topology::Graph;
using topology::Link;

void init_graph(Graph* self, int32_t num_ranks, int32_t num_nodes, In<int32_t> src, In<int32_t> dst,
                In<int64_t> latency_ps, In<int64_t> bandwidth, std::vector<int32_t> in_network) {
  if (src.size() != dst.size() || src.size() != latency_ps.size() || src.size() != bandwidth.size()) {
    throw TopologyError("link columns differ in length");
  }
  std::vector<Link> links(src.size());
  for (size_t id = 0; id < links.size(); id++) {
    links[id] = {src.data()[id], dst.data()[id], latency_ps.data()[id], bandwidth.data()[id]};
  }
  new (self) Graph(num_ranks, num_nodes, std::move(links), std::move(in_network));
}

nb::tuple give_routes(topology::Routes routes) {
  return nb::make_tuple(give(std::move(routes.offset)), give(std::move(routes.links)));
}

nb::tuple routes(const Graph& graph, In<int32_t> src, In<int32_t> dst, int64_t reference_bytes) {
  if (src.size() != dst.size()) throw TopologyError("routes: src and dst differ in length");
  return give_routes(unlocked([&] { return topology::Router(graph, reference_bytes).routes(view(src), view(dst)); }));
}

nb::tuple rank_routes(const Graph& graph, int64_t reference_bytes) {
  return give_routes(unlocked([&] { return topology::rank_routes(graph, reference_bytes); }));
}

nb::tuple find_paths(const Graph& graph, In<int32_t> src, In<int32_t> dst, In<int64_t> flow, topology::Routing routing,
                     uint64_t seed, In<int32_t> link_class, int64_t reference_bytes) {
  topology::Paths paths = unlocked([&] {
    return topology::find_paths(graph, view(src), view(dst), view(flow), routing, seed, view(link_class),
                                reference_bytes);
  });
  return nb::make_tuple(give(std::move(paths.offset)), give(std::move(paths.link_offset)), give(std::move(paths.links)),
                        give(std::move(paths.share)));
}

auto eccentricity_ps(const Graph& graph, int64_t bytes, In<int32_t> sources, In<int32_t> targets,
                     bool store_and_forward) {
  const auto forwarding =
      store_and_forward ? topology::Forwarding::kStoreAndForward : topology::Forwarding::kCutThrough;
  return give(
      unlocked([&] { return topology::eccentricity_ps(graph, bytes, view(sources), view(targets), forwarding); }));
}

nb::tuple all_gather_cut(const Graph& graph, int64_t max_work) {
  const topology::Cut cut = unlocked([&] { return topology::all_gather_cut(graph, max_work); });
  return nb::make_tuple(cut.ranks, cut.bandwidth);
}

nb::tuple transfer_rates(const Graph& graph) {
  topology::TransferRates rates = unlocked([&] { return topology::TransferRates(graph); });
  return nb::make_tuple(give(std::move(rates.narrowest)), give(std::move(rates.widest)));
}

auto link_images(const Graph& graph, In<int32_t> images, In<int32_t> link_class) {
  return give(unlocked([&] { return topology::link_images(graph, view(images), view(link_class)); }));
}

auto least_images(int64_t size, In<int32_t> generators) {
  return give(unlocked([&] { return topology::least_images(size, view(generators)); }));
}

}  // namespace

void bind_topology(nb::module_& m) {
  nb::class_<Graph>(m, "Graph")
      .def("__init__", &init_graph, "num_ranks"_a, "num_nodes"_a, "src"_a, "dst"_a, "latency_ps"_a, "bandwidth"_a,
           "in_network"_a = std::vector<int32_t>())
      .def_prop_ro("num_ranks", &Graph::num_ranks)
      .def_prop_ro("num_nodes", &Graph::num_nodes)
      .def("reversed", &Graph::reversed);
  nb::enum_<topology::Routing>(m, "Routing")
      .value("SHORTEST", topology::Routing::kShortest)
      .value("PARALLEL", topology::Routing::kParallel)
      .value("ECMP", topology::Routing::kEcmp)
      .value("SPRAY", topology::Routing::kSpray)
      .value("MODULO", topology::Routing::kModulo)
      .value("DIMENSION", topology::Routing::kDimension);
  m.attr("WHOLE_SHARE") = topology::kWholeShare;
  m.attr("REFERENCE_BYTES") = topology::kReferenceBytes;
  m.def("routes", &routes, "graph"_a, "src"_a, "dst"_a, "reference_bytes"_a = topology::kReferenceBytes);
  m.def("find_paths", &find_paths, "graph"_a, "src"_a, "dst"_a, "flow"_a, "routing"_a, "seed"_a, "link_class"_a,
        "reference_bytes"_a = topology::kReferenceBytes);
  m.def("rank_routes", &rank_routes, "graph"_a, "reference_bytes"_a = topology::kReferenceBytes);
  m.def("part_ingress_bandwidth", [](const Graph& graph, In<int32_t> part, int32_t parts) {
    return give(unlocked([&] { return topology::part_ingress_bandwidth(graph, view(part), parts); }));
  });
  m.def("rank_ingress_bandwidth",
        [](const Graph& graph) { return give(unlocked([&] { return topology::rank_ingress_bandwidth(graph); })); });
  m.def("rank_egress_bandwidth",
        [](const Graph& graph) { return give(unlocked([&] { return topology::rank_egress_bandwidth(graph); })); });
  m.def("eccentricity_ps", &eccentricity_ps, "graph"_a, "bytes"_a, "sources"_a, "targets"_a, "store_and_forward"_a);
  m.def("all_gather_cut", &all_gather_cut, "graph"_a, "max_work"_a);
  m.def("transfer_rates", &transfer_rates, "graph"_a);
  m.def("link_images", &link_images, "graph"_a, "images"_a, "link_class"_a);
  m.def("least_images", &least_images, "size"_a, "generators"_a);
  m.def("require_connected", &topology::require_connected, "graph"_a, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace hocket::bind
