#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "hocket/topology/graph.hpp"

namespace hocket::topology {

/// Which nodes a way may pass: all switches, and the ranks with a 1 in `relays` (all ranks where it is empty).
std::vector<uint8_t> passable_nodes(const Graph& graph, std::span<const uint8_t> relays);

/// Cheapest ways from one node to others by weights of the links (Dijkstra); keeps its memory from search to search.
/// Ties go to what was found first, so that equal weights give equal trees. The graph must outlive it.
class ShortestTree {
 public:
  ShortestTree(const Graph& graph, std::vector<uint8_t> passable);

  /// Searches until all `targets` are settled. `weight` (of each link) is at least 0; sums stay below kNever.
  void grow(int32_t source, std::span<const int64_t> weight, std::span<const int32_t> targets);

  /// After `grow`, of a target: kNever where no way leads there.
  int64_t distance(int32_t node) const { return distance_[node]; }
  /// The last link on the way to a node that was reached, -1 at the source.
  int32_t link_into(int32_t node) const { return link_into_[node]; }

 private:
  const Graph& graph_;
  std::vector<uint8_t> passable_, wanted_;
  std::vector<int64_t> distance_;
  std::vector<int32_t> link_into_;
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace hocket::topology
