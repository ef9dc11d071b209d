#include "hocket/synthesizer/packing/packing.hpp"

#include <algorithm>
#include <optional>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "hocket/synthesizer/network.hpp"
#include "hocket/synthesizer/trees/trees.hpp"
#include "links.hpp"

namespace hocket::synthesizer {
namespace {

using topology::Graph;

/// By such a part of it a period is prolonged in which the switches cannot be removed.
constexpr Picoseconds kPart = 16;

/// The ranks' chunks.
std::vector<std::vector<int32_t>> chunks_of(const Graph& graph, std::span<const int32_t> root) {
  std::vector<std::vector<int32_t>> chunks(graph.num_ranks());
  for (size_t chunk = 0; chunk < root.size(); chunk++) chunks[root[chunk]].push_back(static_cast<int32_t>(chunk));
  return chunks;
}

/// The chunks' flows to all ranks.
struct Spreading {
  Spreading(const Graph& graph, const Slots& slots, std::span<const int32_t> root, const Stop& stop)
      : graph(graph),
        chunks(chunks_of(graph, root)),
        flows(graph.num_nodes(), graph.num_ranks(), stop),
        links(graph, slots, flows),
        supply(graph.num_ranks(), RootedFlows::kNone) {
    for (int32_t rank = 0; rank < graph.num_ranks(); rank++) {
      if (chunks[rank].empty()) continue;
      const int32_t trees = flows.add_node();
      supply[rank] = flows.add_arc(flows.source(), trees, std::ssize(chunks[rank]));
      flows.add_arc(trees, rank, RootedFlows::kUnlimited);
    }
  }

  /// Newton's method for the ratio (Dinkelbach): a minimum cut with too few slots gives the least period for that cut,
  /// and the cut never binds again. Invariant: the period is a lower bound at any time, so the first one that all flows
  /// fit into is the shortest. From the period's present time on the next one in which everything can flow to all
  /// ranks.
  void find_period(Period& period) {
    int64_t all = 0;
    for (const auto& own : chunks) all += std::ssize(own);
    links.set_period(period.time);
    for (int32_t sink = 0; sink < graph.num_ranks(); sink++) {
      for (int64_t lacking = all; (lacking -= flows.send(sink, lacking)) > 0;) {
        prolong(period);
        links.set_period(period.time);
      }
    }
  }

  /// Makes the period long enough for the cut that kept the last flow from being larger.
  void prolong(Period& period) const {
    std::vector<bool> inside(graph.num_nodes());
    int64_t wanted = 0;
    period.cut.clear();
    for (int32_t node = 0; node < graph.num_nodes(); node++) {
      inside[node] = flows.on_source_side(node);
      if (!inside[node] || graph.is_switch(node)) continue;
      period.cut.push_back(node);
      wanted += std::ssize(chunks[node]);
    }
    period.time = links.period_for(inside, wanted, period.time);
    if (period.time < kNever) return;
    const auto origin = std::ranges::find_if(period.cut, [&](int32_t rank) { return !chunks[rank].empty(); });
    inside.resize(graph.num_ranks());
    throw_cut_off(inside, chunks[*origin].front(), *origin);
  }

  const Graph& graph;
  const std::vector<std::vector<int32_t>> chunks;  // [rank]
  RootedFlows flows;
  PackingLinks links;
  std::vector<int32_t> supply;  ///< [rank] the arc that its chunks come from
};

void check(const Graph& graph, const Slots& slots, std::span<const int32_t> root) {
  for (const auto& times : {slots.held, slots.beyond}) {
    check_size(times.size(), graph.links().size(), "the times of slots");
    check_within(times, 0, kNever, "the times of slots");
  }
  check_within(slots.held, 1, kNever, "the times of slots");
  check_ids(root, graph.num_ranks(), "the roots of chunks");
}

}  // namespace

Period packing_period(const Graph& graph, const Slots& slots, std::span<const int32_t> root, const Stop& stop) {
  check(graph, slots, root);
  Period period;
  Spreading(graph, slots, root, stop).find_period(period);
  return period;
}

Packing pack_spanning_trees(const Graph& graph, const Slots& slots, std::span<const int32_t> root, int64_t grain,
                            const Stop& stop) {
  check(graph, slots, root);
  check_within(grain, 1, RootedFlows::kUnlimited, "the grain");
  Packing packing;
  std::optional<Spreading> spreading;
  while (true) {
    spreading.emplace(graph, slots, root, stop);
    spreading->find_period(packing.period);
    if (remove_switches(graph, spreading->flows, spreading->links, grain)) break;
    // From here on the period is no bound any more, only a time in which the packing exists.
    packing.period.time = within_horizon(packing.period.time + packing.period.time / kPart + 1);
  }
  packing.down.assign(root.size() * graph.num_ranks(), kNoLink);
  std::vector<size_t> used(graph.num_ranks(), 0);
  for (const GrownTrees& trees : grow_together(spreading->flows, spreading->supply)) {
    for (int64_t tree = 0; tree < trees.count; tree++) {
      const size_t chunk = spreading->chunks[trees.root][used[trees.root]++];
      for (const int32_t arc : trees.arcs) {
        packing.down[chunk * graph.num_ranks() + spreading->flows.to(arc)] = spreading->links.take(arc);
      }
    }
  }
  spreading->links.write_routes(packing);
  return packing;
}

}  // namespace hocket::synthesizer
