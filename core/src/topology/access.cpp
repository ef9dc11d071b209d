#include "hocket/topology/access.hpp"

#include <algorithm>
#include <limits>

namespace hocket::topology {

Access::Access(const Graph& graph)
    : widest(graph.num_nodes(), 0),
      narrowest(graph.num_nodes(), std::numeric_limits<Bandwidth>::max()),
      nearest(graph.num_nodes(), kNever) {
  for (int32_t node = 0; node < graph.num_nodes(); node++) {
    if (!graph.holds(node)) continue;
    widest[node] = std::numeric_limits<Bandwidth>::max();
    nearest[node] = 0;
  }
  // Bellman-Ford on all measures at once: each only improves, so it ends; switches are few hops deep, so it ends soon.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Link& link : graph.links()) {
      // The widest, the narrowest and the nearest way may be different ones; each is a bound for every way. Where
      // chunks may stay a way ends, and nothing improves.
      if (widest[link.src] == 0) continue;
      const bool ends = !graph.is_switch(link.dst);
      const Bandwidth wide = std::min(widest[link.src], link.bandwidth);
      const Bandwidth narrow = ends ? narrowest[link.dst] : std::min(narrowest[link.src], link.bandwidth);
      const Picoseconds near = add_ps(nearest[link.src], link.latency_ps);
      if (wide <= widest[link.dst] && narrow >= narrowest[link.dst] && near >= nearest[link.dst]) continue;
      widest[link.dst] = std::max(wide, widest[link.dst]);
      narrowest[link.dst] = std::min(narrow, narrowest[link.dst]);
      nearest[link.dst] = std::min(near, nearest[link.dst]);
      changed = true;
    }
  }
}

TransferRates::TransferRates(const Graph& graph) {
  const Access into(graph), out_of(graph.reversed());
  for (const Link& link : graph.links()) {
    const bool used = into.widest[link.src] > 0 && out_of.widest[link.dst] > 0;
    widest.push_back(used ? std::min({link.bandwidth, into.widest[link.src], out_of.widest[link.dst]}) : 0);
    narrowest.push_back(used ? std::min({link.bandwidth, into.narrowest[link.src], out_of.narrowest[link.dst]}) : 0);
  }
}

}  // namespace hocket::topology
