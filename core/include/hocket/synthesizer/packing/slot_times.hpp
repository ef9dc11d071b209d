#pragma once

#include <cstdint>
#include <vector>

#include "hocket/topology/graph.hpp"

namespace hocket::synthesizer {

/// For every link a time that no transfer between ranks holds it for less, and one that such a transfer takes at least
/// beyond that: those of the widest and quickest ways over it, which may come back to where they began.
/// Lower bounds of both, whatever way a chunk takes: what makes the period a proof for every schedule, not only for
/// those over shortest routes.
struct SlotTimes {
  /// A route is held as long as its slowest link needs for `chunk_bytes`, `blocking` for its latency as well; of a link
  /// that may carry several at once each takes what its bytes do there. kNever for links that are on no way from rank
  /// to rank.
  SlotTimes(const topology::Graph& graph, int64_t chunk_bytes, bool blocking);

  std::vector<Picoseconds> held, beyond;
};

}  // namespace hocket::synthesizer
