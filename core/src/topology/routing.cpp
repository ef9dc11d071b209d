#include "hocket/topology/routing.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <string>
#include <utility>

#include "hocket/error.hpp"

namespace hocket::topology {
namespace {

std::vector<Picoseconds> link_costs(const Graph& graph, int64_t reference_bytes) {
  if (reference_bytes < 1) throw TopologyError("routes are compared at a size of 1 byte or more");
  std::vector<Picoseconds> cost;
  cost.reserve(graph.links().size());
  for (const Link& link : graph.links()) {
    // Only compared, so that what is beyond the horizon may as well be the horizon.
    const __int128 serialization =
        std::min<__int128>(exact_serialization_ps(reference_bytes, link.bandwidth), kHorizon);
    cost.push_back(add_ps(link.latency_ps, static_cast<Picoseconds>(serialization)));
  }
  return cost;
}

enum class Routing { kThroughSwitches, kAny };

/// For every node the link on which its route to `destination` leaves, -1 where there is none.
///
/// Dijkstra from the destination against the links. Costs are positive, so a node is settled after all nodes that
/// follow it on a cheapest route, and link ids decide between equal costs. `kThroughSwitches` finds routes between
/// ranks over one switch or more. `kAny` starts with those and direct links; then ranks, held back so far, forward for
/// the nodes that are still without a route. With `wanted` nodes the search ends when it has their routes.
std::vector<int32_t> next_links(const Graph& graph, const std::vector<Picoseconds>& cost, int32_t destination,
                                Routing routing, std::span<const int32_t> wanted = {}) {
  std::vector<int32_t> next(graph.num_nodes(), -1);
  std::vector<Picoseconds> distance(graph.num_nodes(), kNever);
  std::vector<bool> settled(graph.num_nodes());
  using Entry = std::pair<Picoseconds, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto expand = [&](int32_t node) {
    for (const int32_t id : graph.in_links(node)) {
      const int32_t before = graph.links()[id].src;
      const Picoseconds through = add_ps(distance[node], cost[id]);
      if (settled[before] || through > distance[before]) continue;
      if (routing == Routing::kThroughSwitches && !graph.is_switch(node) && !graph.is_switch(before)) continue;
      // Ties by the smallest link id, so that routes do not depend on the order in which the queue gives equal costs.
      if (through < distance[before]) queue.emplace(through, before);
      if (through < distance[before] || next[before] < 0 || id < next[before]) next[before] = id;
      distance[before] = through;
    }
  };
  std::vector<bool> missing(graph.num_nodes(), wanted.empty());
  for (const int32_t node : wanted) missing[node] = true;
  missing[destination] = false;
  auto num_missing = std::ranges::count(missing, true);
  std::vector<int32_t> held_back;
  const auto settle = [&](bool ranks_forward) {
    while (!queue.empty() && num_missing > 0) {
      const int32_t node = queue.top().second;
      queue.pop();
      // A lazy queue: entries that something cheaper replaced come up later and are passed over.
      if (settled[node]) continue;
      settled[node] = true;
      num_missing -= missing[node];
      if (graph.is_switch(node) || ranks_forward) {
        expand(node);
      } else {
        held_back.push_back(node);
      }
    }
  };
  distance[destination] = 0;
  settled[destination] = true;
  expand(destination);
  settle(false);
  if (routing == Routing::kAny && num_missing > 0) {
    for (const int32_t rank : held_back) expand(rank);
    settle(true);
  }
  return next;
}

std::vector<int32_t> follow(const Graph& graph, const std::vector<int32_t>& next, int32_t src, int32_t dst) {
  std::vector<int32_t> links;
  for (int32_t node = src; node != dst; node = graph.links()[next[node]].dst) links.push_back(next[node]);
  return links;
}

}  // namespace

Router::Router(const Graph& graph, int64_t reference_bytes)
    : graph_(graph), cost_(link_costs(graph, reference_bytes)) {}

Routes Router::routes(std::span<const int32_t> src, std::span<const int32_t> dst) const {
  for (size_t pair = 0; pair < src.size(); pair++) {
    for (const int32_t node : {src[pair], dst[pair]}) {
      if (node >= 0 && node < graph_.num_nodes()) continue;
      throw Infeasible("no route from " + std::to_string(src[pair]) + " to " + std::to_string(dst[pair]) +
                       ": nodes are 0.." + std::to_string(graph_.num_nodes() - 1));
    }
  }
  // One search a destination serves all pairs that end there.
  std::vector<size_t> by_destination(src.size());
  std::iota(by_destination.begin(), by_destination.end(), size_t{0});
  std::ranges::stable_sort(by_destination, {}, [&](size_t pair) { return dst[pair]; });
  std::vector<std::vector<int32_t>> found(src.size());
  std::vector<int32_t> wanted;
  for (size_t begin = 0, end = 0; begin < src.size(); begin = end) {
    const int32_t destination = dst[by_destination[begin]];
    wanted.clear();
    while (end < src.size() && dst[by_destination[end]] == destination) wanted.push_back(src[by_destination[end++]]);
    const std::vector<int32_t> next = next_links(graph_, cost_, destination, Routing::kAny, wanted);
    for (size_t at = begin; at < end; at++) {
      const int32_t source = src[by_destination[at]];
      if (source != destination && next[source] < 0) {
        throw Infeasible("no route from node " + std::to_string(source) + " to node " + std::to_string(destination) +
                         ": add links that connect them");
      }
      found[by_destination[at]] = follow(graph_, next, source, destination);
    }
  }
  Routes routes;
  for (const std::vector<int32_t>& route : found) routes.push_back(route);
  return routes;
}

std::vector<int32_t> Router::route(int32_t src, int32_t dst) const { return routes({&src, 1}, {&dst, 1}).links; }

Routes rank_routes(const Graph& graph, int64_t reference_bytes) {
  const std::vector<Picoseconds> cost = link_costs(graph, reference_bytes);
  Routes routes;
  for (int32_t id = 0; id < static_cast<int32_t>(graph.links().size()); id++) {
    const Link& link = graph.links()[id];
    if (!graph.is_switch(link.src) && !graph.is_switch(link.dst)) routes.push_back({&id, 1});
  }
  if (graph.num_nodes() == graph.num_ranks()) return routes;
  for (int32_t dst = 0; dst < graph.num_ranks(); dst++) {
    const std::vector<int32_t> next = next_links(graph, cost, dst, Routing::kThroughSwitches);
    for (int32_t src = 0; src < graph.num_ranks(); src++) {
      if (next[src] >= 0) routes.push_back(follow(graph, next, src, dst));
    }
  }
  return routes;
}

}  // namespace hocket::topology
