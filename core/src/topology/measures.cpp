#include "hocket/topology/measures.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/topology/max_flow.hpp"

namespace hocket::topology {
namespace {

enum class Direction { kFrom, kTo };

/// The lowest rank with no route from (to) rank 0, or -1.
int32_t first_apart(const Graph& graph, Direction direction) {
  std::vector<bool> reached(graph.num_nodes());
  std::vector<int32_t> queue{0};
  reached[0] = true;
  for (size_t at = 0; at < queue.size(); at++) {
    const int32_t node = queue[at];
    for (const int32_t id : direction == Direction::kFrom ? graph.out_links(node) : graph.in_links(node)) {
      const Link& link = graph.links()[id];
      const int32_t next = direction == Direction::kFrom ? link.dst : link.src;
      if (!reached[next]) queue.push_back(next);
      reached[next] = true;
    }
  }
  for (int32_t rank = 0; rank < graph.num_ranks(); rank++) {
    if (!reached[rank]) return rank;
  }
  return -1;
}

Bandwidth saturated(MaxFlow::Capacity flow) {
  constexpr MaxFlow::Capacity kLargest = std::numeric_limits<Bandwidth>::max();
  return static_cast<Bandwidth>(std::min(flow, kLargest));
}

/// A set of nodes without `sink` whose ranks / leaving bandwidth is larger than that of `best`, if there is one.
///
/// With k/b the ratio of `best`, a set S beats it when b * ranks(S) > k * bandwidth(S), that is when the cut of S in a
/// network with b from a source to every rank and k * bandwidth on every link is less than b * all ranks.
std::optional<Cut> tighter_cut(const Graph& graph, int32_t sink, const Cut& best) {
  const int32_t source = graph.num_nodes();
  MaxFlow network(source + 1);
  for (int32_t rank = 0; rank < graph.num_ranks(); rank++) network.add_arc(source, rank, best.bandwidth);
  for (const Link& link : graph.links()) {
    network.add_arc(link.src, link.dst, MaxFlow::Capacity{best.ranks} * link.bandwidth);
  }
  const auto all = MaxFlow::Capacity{best.bandwidth} * graph.num_ranks();
  if (network.run(source, sink) == all) return std::nullopt;
  int32_t ranks = 0;
  for (int32_t rank = 0; rank < graph.num_ranks(); rank++) ranks += network.on_source_side(rank);
  MaxFlow::Capacity bandwidth = 0;
  for (const Link& link : graph.links()) {
    if (network.on_source_side(link.src) && !network.on_source_side(link.dst)) bandwidth += link.bandwidth;
  }
  return Cut{ranks, saturated(bandwidth)};
}

}  // namespace

void require_connected(const Graph& graph) {
  const auto fail = [](int32_t src, int32_t dst) {
    throw TopologyError("rank " + std::to_string(src) + " cannot reach rank " + std::to_string(dst) +
                        ": add links that connect them");
  };
  // Every rank reaches every other exactly when rank 0 reaches all and all reach rank 0.
  if (const int32_t rank = first_apart(graph, Direction::kFrom); rank >= 0) fail(0, rank);
  if (const int32_t rank = first_apart(graph, Direction::kTo); rank >= 0) fail(rank, 0);
}

// The bottleneck cut of ForestColl (max over sets S of ranks in S by bandwidth out of S), by Dinkelbach's method: each
// tighter cut found becomes the ratio to beat, until none beats it. A cut has some rank outside, which is the sink;
// with too many ranks to try all of them, every n-th is, and the cut may be one that is not the tightest.
Cut all_gather_cut(const Graph& graph, int64_t max_work) {
  if (graph.num_ranks() < 2) throw TopologyError("an all-gather cut needs two ranks or more");
  const std::vector<Bandwidth> ingress = rank_ingress_bandwidth(graph);
  Cut best{graph.num_ranks() - 1, *std::min_element(ingress.begin(), ingress.end())};
  if (best.bandwidth == 0) throw TopologyError("an all-gather cut needs ranks that all receive: add links");
  const int64_t sinks = std::min<int64_t>(graph.num_ranks(), max_work / static_cast<int64_t>(graph.links().size()));
  for (int64_t at = 0; at < sinks; at++) {
    const auto sink = static_cast<int32_t>(at * graph.num_ranks() / sinks);
    while (const std::optional<Cut> cut = tighter_cut(graph, sink, best)) best = *cut;
  }
  return best;
}

}  // namespace hocket::topology
