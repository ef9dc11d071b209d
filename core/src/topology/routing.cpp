#include "hocket/topology/routing.hpp"

#include <span>
#include <vector>

#include "next_links.hpp"

namespace hocket::topology {
namespace {

std::vector<int32_t> follow(const Graph& graph, const NextLinks& next, int32_t src, int32_t dst) {
  std::vector<int32_t> links;
  for (int32_t node = src; node != dst; node = graph.links()[next.lowest[node]].dst) links.push_back(next.lowest[node]);
  return links;
}

}  // namespace

Router::Router(const Graph& graph, int64_t reference_bytes)
    : graph_(graph), cost_(link_costs(graph, reference_bytes)) {}

Routes Router::routes(std::span<const int32_t> src, std::span<const int32_t> dst) const {
  for (size_t pair = 0; pair < src.size(); pair++) require_nodes(graph_, src[pair], dst[pair]);
  const std::vector<size_t> order = by_destination(dst);
  std::vector<std::vector<int32_t>> found(src.size());
  std::vector<int32_t> wanted;
  NextLinksSearch search(graph_, cost_);
  for (size_t begin = 0, end = 0; begin < src.size(); begin = end) {
    const int32_t destination = dst[order[begin]];
    wanted.clear();
    while (end < src.size() && dst[order[end]] == destination) wanted.push_back(src[order[end++]]);
    const NextLinks& next = search.run(destination, wanted);
    for (size_t at = begin; at < end; at++) {
      require_route(next, src[order[at]], destination);
      found[order[at]] = follow(graph_, next, src[order[at]], destination);
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
    const NextLinks next = next_links(graph, cost, dst, Forwarders::kThroughSwitches, {}, false);
    for (int32_t src = 0; src < graph.num_ranks(); src++) {
      if (next.lowest[src] >= 0) routes.push_back(follow(graph, next, src, dst));
    }
  }
  return routes;
}

}  // namespace hocket::topology
