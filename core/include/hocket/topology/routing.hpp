#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/topology/graph.hpp"

namespace hocket::topology {

/// Size at which routes are compared when nobody says another one.
inline constexpr int64_t kReferenceBytes = 1 << 20;

/// Routes of many pairs: route k is links[offset[k] .. offset[k + 1]), in travel order.
struct Routes {
  std::vector<int64_t> offset{0};
  std::vector<int32_t> links;

  void push_back(std::span<const int32_t> route) {
    links.insert(links.end(), route.begin(), route.end());
    offset.push_back(static_cast<int64_t>(links.size()));
  }
};

/// One deterministic minimal route for every ordered pair of nodes.
///
/// A link costs its latency plus the serialization of `reference_bytes`. Ranks forward only where switches and direct
/// links do not connect a pair. Of equally cheap routes the one that leaves each node on the lowest-numbered link is
/// taken: dimension by dimension on meshes and tori, clockwise half-way around a ring.
///
/// Routes to one destination form a tree: one search for all pairs with that destination, which ends at their farthest
/// source. The graph must outlive the router.
class Router {
 public:
  /// Throws TopologyError when `reference_bytes` < 1.
  explicit Router(const Graph& graph, int64_t reference_bytes = kReferenceBytes);

  /// For each pair the link ids from `src` to `dst` in travel order, none when they are the same node. Throws
  /// Infeasible, naming the pair, when no route exists.
  Routes routes(std::span<const int32_t> src, std::span<const int32_t> dst) const;
  std::vector<int32_t> route(int32_t src, int32_t dst) const;

 private:
  const Graph& graph_;
  std::vector<Picoseconds> cost_;  // of a link
};

/// The routes a synthesizer may use as links between ranks: first every direct link between two ranks by id, parallel
/// ones separately; then, by destination and source, for every pair of ranks that switches connect the cheapest route
/// through switches only. Without switches route k is link k. Throws TopologyError when `reference_bytes` < 1.
Routes rank_routes(const Graph& graph, int64_t reference_bytes = kReferenceBytes);

}  // namespace hocket::topology
