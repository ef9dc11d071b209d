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
  for (bool changed = true; changed;) {
    changed = false;
    for (const Link& link : graph.links()) {
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
