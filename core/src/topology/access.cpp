#include "hocket/topology/access.hpp"

#include <algorithm>
#include <limits>

namespace hocket::topology {

Access::Access(const Graph& graph) : widest(graph.num_nodes(), 0), nearest(graph.num_nodes(), kNever) {
  for (int32_t node = 0; node < graph.num_nodes(); node++) {
    if (!graph.holds(node)) continue;
    widest[node] = std::numeric_limits<Bandwidth>::max();
    nearest[node] = 0;
  }
  // Bellman-Ford on both measures at once: each only improves, so it ends; switches are few hops deep, so it ends soon.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Link& link : graph.links()) {
      // The widest and the nearest way may be different ones; each is a bound for every way.
      if (widest[link.src] == 0) continue;
      const Bandwidth wide = std::min(widest[link.src], link.bandwidth);
      const Picoseconds near = add_ps(nearest[link.src], link.latency_ps);
      if (wide <= widest[link.dst] && near >= nearest[link.dst]) continue;
      widest[link.dst] = std::max(wide, widest[link.dst]);
      nearest[link.dst] = std::min(near, nearest[link.dst]);
      changed = true;
    }
  }
}

}  // namespace hocket::topology
