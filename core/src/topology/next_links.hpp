#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hocket/topology/graph.hpp"
#include "hubs.hpp"

namespace hocket::topology {

/// What each link costs: its latency plus the serialization of `reference_bytes`. Throws TopologyError when these are
/// less than 1.
std::vector<Picoseconds> link_costs(const Graph& graph, int64_t reference_bytes);

/// `kThroughSwitches`: routes between ranks over one switch or more. `kAny`: those and direct links; then ranks forward
/// for the nodes that are still without a route.
enum class Forwarders { kThroughSwitches, kAny };

/// The routing tables of all nodes for one destination.
struct NextLinks {
  std::vector<int32_t> lowest;        // of each node the lowest link on a cheapest route, -1: none
  std::vector<Picoseconds> distance;  // of each node that has one: the cost of these routes
  /// All links on cheapest routes: those of a node are `all[offset[node]..offset[node + 1]]`, ascending. Empty unless
  /// asked for.
  std::vector<int64_t> offset;
  std::vector<int32_t> all;

  std::span<const int32_t> of(int32_t node) const {
    return {all.data() + offset[node], static_cast<size_t>(offset[node + 1] - offset[node])};
  }
};

/// The tables for `destination`. With `wanted` nodes the search ends when it has theirs, and those of the nodes on
/// their routes.
NextLinks next_links(const Graph& graph, const std::vector<Picoseconds>& cost, int32_t destination,
                     Forwarders forwarders, std::span<const int32_t> wanted, bool all);

/// Searches for many destinations, each for some nodes: between them nothing is made anew, and hubs are not looked at
/// as a whole. The graph and the costs must outlive it.
class NextLinksSearch {
 public:
  NextLinksSearch(const Graph& graph, const std::vector<Picoseconds>& cost);
  ~NextLinksSearch();

  /// The tables of `wanted` and the nodes on their routes; those of others may be missing. Valid until the next call.
  const NextLinks& run(int32_t destination, std::span<const int32_t> wanted);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws Infeasible unless both are nodes.
void require_nodes(const Graph& graph, int32_t src, int32_t dst);
/// Throws Infeasible unless the source has a route.
void require_route(const NextLinks& next, int32_t src, int32_t dst);

/// Numbers of the pairs, those of one destination side by side, in order of destinations: one search serves them all.
std::vector<size_t> by_destination(std::span<const int32_t> dst);

}  // namespace hocket::topology
