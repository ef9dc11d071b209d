#include "hocket/synthesizer/packing/slot_times.hpp"

#include <algorithm>

#include "hocket/topology/access.hpp"

namespace hocket::synthesizer {

SlotTimes::SlotTimes(const topology::Graph& graph, int64_t chunk_bytes, bool blocking) {
  const topology::Access to(graph), from(graph.reversed());
  for (const topology::Link& link : graph.links()) {
    // No route over the link is wider than the widest way to it, the link, and the widest way from it: maybe not one
    // route, which is what makes it a bound.
    const Bandwidth widest = std::min({to.widest[link.src], link.bandwidth, from.widest[link.dst]});
    const Bandwidth slowest = std::min({to.narrowest[link.src], link.bandwidth, from.narrowest[link.dst]});
    if (widest == 0) {
      held.push_back(kNever);
      beyond.push_back(0);
      continue;
    }
    const Picoseconds latency = add_ps(add_ps(to.nearest[link.src], from.nearest[link.dst]), link.latency_ps);
    // A trunk passes several at once: as many as its bandwidth has room for, so that none takes a whole picosecond of
    // it.
    const bool trunk = !blocking && slowest <= link.bandwidth / 2;
    const Picoseconds wire =
        trunk ? serialization_ps(chunk_bytes, link.bandwidth) - 1 : serialization_ps(chunk_bytes, widest);
    held.push_back(within_horizon(std::max<Picoseconds>(1, blocking ? add_ps(wire, latency) : wire)));
    beyond.push_back(blocking ? 0 : within_horizon(latency));
  }
}

}  // namespace hocket::synthesizer
