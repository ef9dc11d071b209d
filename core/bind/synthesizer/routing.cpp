#include <nanobind/stl/optional.h>

#include "bind.hpp"
#include "hocket/synthesizer/routing/paths.hpp"
#include "hocket/synthesizer/routing/rounds.hpp"
#include "hocket/synthesizer/routing/schedule.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Packets;
using synthesizer::Rule;
using synthesizer::Stop;
using topology::Graph;

/// A router that keeps the columns it looks at.
struct Router {
  In<int32_t> src, dst;
  In<int64_t> bytes;
  const Graph& graph;
  bool blocking;
  synthesizer::PacketRouter router;

  Router(const Graph& on, In<int32_t> from, In<int32_t> to, In<int64_t> size, In<uint8_t> relays, bool blocks,
         uint64_t seed)
      : src(std::move(from)),
        dst(std::move(to)),
        bytes(std::move(size)),
        graph(on),
        blocking(blocks),
        router(on, packets(), view(relays), blocks, seed) {}

  Packets packets() const { return {view(src), view(dst), view(bytes)}; }

  nb::tuple schedule(Rule rule, const Stop& stop) const {
    return columns(unlocked([&] { return schedule_packets(graph, packets(), router.paths(), blocking, rule, stop); }));
  }

  std::optional<nb::tuple> rounds(const Stop& stop) const {
    auto found = unlocked([&] { return schedule_rounds(graph, packets(), blocking, stop); });
    if (!found) return std::nullopt;
    return columns(std::move(*found));
  }

  static nb::tuple columns(synthesizer::RoutedTransfers found) {
    return nb::make_tuple(give(std::move(found.route_offset)), give(std::move(found.route_links)),
                          give(std::move(found.packet)), give(std::move(found.route)), give(std::move(found.start)),
                          give(std::move(found.finish)));
  }
};

}  // namespace

void bind_synthesizer_routing(nb::module_& m) {
  nb::enum_<Rule>(m, "Rule").value("LONGEST_WAY", Rule::kLongestWay).value("BUSIEST_LINK", Rule::kBusiestLink);
  nb::class_<Router>(m, "PacketRouter")
      .def(nb::init<const Graph&, In<int32_t>, In<int32_t>, In<int64_t>, In<uint8_t>, bool, uint64_t>(), "graph"_a,
           "src"_a, "dst"_a, "bytes"_a, "relays"_a, "blocking"_a, "seed"_a, nb::keep_alive<1, 2>())
      .def(
          "route",
          [](Router& self, int64_t target_ps, int sharpness, const Stop& stop) {
            unlocked([&] { self.router.pass(target_ps, sharpness, stop); });
          },
          "target_ps"_a, "sharpness"_a, "stop"_a)
      .def_prop_ro("busiest_ps", [](const Router& self) { return self.router.busiest(); })
      .def("schedule", &Router::schedule, "rule"_a, "stop"_a)
      .def("rounds", &Router::rounds, "stop"_a);
}

}  // namespace hocket::bind
