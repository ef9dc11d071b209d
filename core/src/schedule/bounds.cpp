#include "hocket/schedule/bounds.hpp"

#include <algorithm>

#include "hocket/error.hpp"

namespace hocket::schedule {
namespace {

/// Whether the links can have passed the demand on by `time`.
bool passes(const topology::Graph& graph, std::span<const int32_t> links, const Demand& demand, Holding holding,
            Picoseconds time) {
  __int128 chunks = 0, bytes = 0;
  for (const int32_t id : links) {
    const topology::Link& link = graph.links()[id];
    if (time < link.latency_ps) continue;
    const Picoseconds window = time - link.latency_ps;  // the last transfer's latency comes on top of its wire time
    const __int128 passed = static_cast<__int128>(window) * link.bandwidth / kPicosecondsPerSecond;
    bytes += passed;
    if (holding == Holding::kShared) {
      chunks += demand.smallest_bytes == 0 ? demand.chunks : passed / demand.smallest_bytes;
      continue;
    }
    const bool blocking = holding == Holding::kBlocking;
    const Picoseconds wire = serialization_ps(demand.smallest_bytes, link.bandwidth);
    const Picoseconds slot = blocking ? link.latency_ps + wire : wire;
    chunks += slot == 0 ? demand.chunks : (blocking ? time : window) / slot;
  }
  return chunks >= demand.chunks && bytes >= demand.total_bytes;
}

}  // namespace

Picoseconds least_time(const topology::Graph& graph, std::span<const int32_t> links, const Demand& demand,
                       Holding holding) {
  if (demand.chunks == 0) return 0;
  if (links.empty()) throw Infeasible("no link leads to where chunks must go");
  if (passes(graph, links, demand, holding, 0)) return 0;
  Picoseconds late = 1;
  while (!passes(graph, links, demand, holding, late)) late = within_horizon(late * 2);
  Picoseconds early = late / 2;
  while (early + 1 < late) {
    const Picoseconds middle = early + (late - early) / 2;
    (passes(graph, links, demand, holding, middle) ? late : early) = middle;
  }
  return late;
}

}  // namespace hocket::schedule
