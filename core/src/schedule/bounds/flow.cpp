#include "hocket/schedule/bounds/flow.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "hocket/columns.hpp"
#include "hocket/topology/max_flow.hpp"

namespace hocket::schedule {
namespace {

using topology::MaxFlow;

/// Whether the flow through links of `capacity` carries all of `supply` to the sink.
template <typename Capacity>
/// A source beyond all ranks supplies them; integer capacities make the flow integral, so no rounding hides in the
/// answer.
bool carries(const topology::Graph& graph, std::span<const int32_t> ranks, std::span<const int64_t> supply,
             int32_t sink, Capacity capacity) {
  const int32_t source = graph.num_nodes();
  MaxFlow flow(source + 1);
  MaxFlow::Capacity total = 0;
  for (size_t at = 0; at < ranks.size(); at++) {
    flow.add_arc(source, ranks[at], supply[at]);
    total += supply[at];
  }
  for (const topology::Link& link : graph.links()) flow.add_arc(link.src, link.dst, capacity(link));
  return flow.run(source, sink) >= total;
}

/// Necessary, not sufficient: a flow of so many bytes and one of so many chunks, each for itself, and none of the order
/// in which chunks pass links. So it is a bound.
bool arrives(const topology::Graph& graph, const Supply& supply, int32_t sink, Holding holding, Picoseconds time) {
  const auto bytes = [&](const topology::Link& link) {
    const Picoseconds window = std::max<Picoseconds>(0, time - link.latency_ps);
    return static_cast<MaxFlow::Capacity>(window) * link.bandwidth / kPicosecondsPerSecond;
  };
  if (!carries(graph, supply.rank, supply.bytes, sink, bytes)) return false;
  if (holding == Holding::kShared) return true;
  const int64_t all = std::accumulate(supply.chunks.begin(), supply.chunks.end(), int64_t{0});
  return carries(graph, supply.rank, supply.chunks, sink, [&](const topology::Link& link) -> MaxFlow::Capacity {
    const Picoseconds wire = serialization_ps(supply.smallest_bytes, link.bandwidth);
    const bool blocking = holding == Holding::kBlocking;
    const Picoseconds slot = blocking ? add_ps(link.latency_ps, wire) : wire;
    const Picoseconds window = blocking ? time : std::max<Picoseconds>(0, time - link.latency_ps);
    return slot == 0 ? all : window / slot;
  });
}

}  // namespace

Picoseconds flow_bound(const topology::Graph& graph, const Supply& supply, int32_t sink, Holding holding,
                       Picoseconds least_ps) {
  check_size(supply.chunks.size(), supply.rank.size(), "the chunks of ranks");
  check_size(supply.bytes.size(), supply.rank.size(), "the bytes of ranks");
  check_ids(supply.rank, graph.num_ranks(), "the ranks");
  check_within(sink, 0, graph.num_ranks() - 1, "the sink");
  for (const auto& amounts : {supply.chunks, supply.bytes}) {
    check_within(amounts, 0, std::numeric_limits<int64_t>::max(), "what ranks hold");
  }
  check_within(supply.smallest_bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of a chunk");
  check_within(least_ps, 0, kHorizon, "the time already known");
  if (arrives(graph, supply, sink, holding, least_ps)) return least_ps;
  Picoseconds early = least_ps, late = std::max<Picoseconds>(1, least_ps);
  do {
    late = within_horizon(late * 2);
  } while (!arrives(graph, supply, sink, holding, late));
  while (early + 1 < late) {
    const Picoseconds middle = early + (late - early) / 2;
    (arrives(graph, supply, sink, holding, middle) ? late : early) = middle;
  }
  return late;
}

}  // namespace hocket::schedule
