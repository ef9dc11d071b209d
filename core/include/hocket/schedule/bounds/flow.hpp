#pragma once

#include <cstdint>
#include <span>

#include "hocket/schedule/bounds/bounds.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::schedule {

/// What ranks hold for one other: rank[k] has chunks[k], of bytes[k] in all, each of at least `smallest_bytes`.
struct Supply {
  std::span<const int32_t> rank;
  std::span<const int64_t> chunks, bytes;
  int64_t smallest_bytes;
};

/// The least time, from `least_ps` on, by which `sink` can have it all: by then a link passes on so many chunks, and so
/// many bytes, and the maximum flow from the ranks to the sink must carry them. Chunks are never merged on the way.
/// Throws Infeasible when that takes longer than there is time, as it does where there is no way.
///
/// By max-flow min-cut it is at least what every set of links around the sink proves on its own, without looking at the
/// exponentially many sets. ForestColl's optimum is the same cut without latency and whole chunks.
Picoseconds flow_bound(const topology::Graph& graph, const Supply& supply, int32_t sink, Holding holding,
                       Picoseconds least_ps);

}  // namespace hocket::schedule
