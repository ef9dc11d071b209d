#include "hocket/topology/shortest_tree.hpp"

#include <algorithm>

#include "hocket/columns.hpp"

namespace hocket::topology {

std::vector<uint8_t> passable_nodes(const Graph& graph, std::span<const uint8_t> relays) {
  if (!relays.empty()) check_size(relays.size(), graph.num_ranks(), "which ranks may pass chunks on");
  std::vector<uint8_t> passable(graph.num_nodes(), 1);
  std::ranges::copy(relays, passable.begin());
  return passable;
}

ShortestTree::ShortestTree(const Graph& graph, std::vector<uint8_t> passable)
    : graph_(graph),
      passable_(std::move(passable)),
      wanted_(graph.num_nodes()),
      distance_(graph.num_nodes()),
      link_into_(graph.num_nodes()) {}

// Dijkstra that stops when all targets are settled; arrays are kept from search to search, as engines do thousands.
void ShortestTree::grow(int32_t source, std::span<const int64_t> weight, std::span<const int32_t> targets) {
  int64_t missing = 0;
  for (const int32_t node : targets) missing += !std::exchange(wanted_[node], 1);
  std::ranges::fill(distance_, kNever);
  std::ranges::fill(link_into_, -1);
  queue_ = {};
  distance_[source] = 0;
  queue_.emplace(0, source);
  while (!queue_.empty() && missing > 0) {
    const auto [far, node] = queue_.top();
    queue_.pop();
    if (far > distance_[node]) continue;
    missing -= std::exchange(wanted_[node], 0);
    if (!passable_[node] && node != source) continue;
    for (const int32_t id : graph_.out_links(node)) {
      const int32_t next = graph_.links()[id].dst;
      const int64_t through = add_ps(far, weight[id]);
      if (through >= distance_[next]) continue;
      distance_[next] = through;
      link_into_[next] = id;
      queue_.emplace(through, next);
    }
  }
  for (const int32_t node : targets) wanted_[node] = 0;
}

}  // namespace hocket::topology
