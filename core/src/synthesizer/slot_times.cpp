#include "hocket/synthesizer/slot_times.hpp"

#include <algorithm>
#include <limits>

namespace hocket::synthesizer {
namespace {

using topology::Graph;
using topology::Link;

/// The best ways, through switches only, from where chunks stay to every node: their largest bandwidth (0: there is
/// none) and, maybe on another one, their shortest latency.
struct Ways {
  explicit Ways(const Graph& graph) : bandwidth(graph.num_nodes(), 0), latency(graph.num_nodes(), kNever) {
    for (int32_t node = 0; node < graph.num_nodes(); node++) {
      if (!graph.holds(node)) continue;
      bandwidth[node] = std::numeric_limits<Bandwidth>::max();
      latency[node] = 0;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const Link& link : graph.links()) {
        if (bandwidth[link.src] == 0) continue;
        const Bandwidth wide = std::min(bandwidth[link.src], link.bandwidth);
        const Picoseconds late = add_ps(latency[link.src], link.latency_ps);
        if (wide <= bandwidth[link.dst] && late >= latency[link.dst]) continue;
        bandwidth[link.dst] = std::max(wide, bandwidth[link.dst]);
        latency[link.dst] = std::min(late, latency[link.dst]);
        changed = true;
      }
    }
  }

  std::vector<Bandwidth> bandwidth;
  std::vector<Picoseconds> latency;
};

}  // namespace

SlotTimes::SlotTimes(const Graph& graph, int64_t chunk_bytes, bool blocking) {
  const Ways to(graph), from(graph.reversed());
  for (const Link& link : graph.links()) {
    const Bandwidth widest = std::min({to.bandwidth[link.src], link.bandwidth, from.bandwidth[link.dst]});
    if (widest == 0) {
      held.push_back(kNever);
      beyond.push_back(0);
      continue;
    }
    const Picoseconds latency = add_ps(add_ps(to.latency[link.src], from.latency[link.dst]), link.latency_ps);
    const Picoseconds wire = serialization_ps(chunk_bytes, widest);
    held.push_back(within_horizon(std::max<Picoseconds>(1, blocking ? add_ps(wire, latency) : wire)));
    beyond.push_back(blocking ? 0 : within_horizon(latency));
  }
}

}  // namespace hocket::synthesizer
