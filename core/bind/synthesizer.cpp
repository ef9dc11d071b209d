#include "synthesizer.hpp"

#include "hocket/synthesizer/rounds/rounds.hpp"
#include "hocket/synthesizer/stop.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Network;
using synthesizer::Stop;
using topology::Graph;

void init_network(Network* self, const Graph& graph, In<int64_t> route_offset, In<int32_t> route_links,
                  int64_t chunk_bytes, bool blocking) {
  unlocked([&] { new (self) Network(graph, view(route_offset), view(route_links), chunk_bytes, blocking); });
}

}  // namespace

void bind_synthesizer(nb::module_& m) {
  nb::class_<Stop>(m, "Stop")
      .def(nb::init<>())
      .def("ask", &Stop::ask)
      .def("check", &Stop::check)
      .def_prop_ro("asked", &Stop::asked)
      .def_prop_ro("found", &Stop::found);
  nb::class_<Network>(m, "Network")
      .def("__init__", &init_network, "graph"_a, "route_offset"_a, "route_links"_a, "chunk_bytes"_a, "blocking"_a)
      .def_ro("num_ranks", &Network::num_ranks)
      .def_prop_ro("num_links", &Network::num_links)
      .def_prop_ro("uniform", &Network::uniform)
      .def_prop_ro("rounds_per_hop", &synthesizer::rounds_per_hop);
  bind_demand(m);
  bind_matching(m);
  bind_trees(m);
  bind_packing(m);
  bind_rounds(m);
  bind_balancing(m);
  bind_synthesizer_symmetry(m);
  bind_synthesizer_routing(m);
}

}  // namespace hocket::bind
