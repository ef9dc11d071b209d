#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/schedule/rank_sets.hpp"
#include "hocket/schedule/transfers.hpp"

namespace hocket::schedule {

/// What a collective asks for. `origin` and `destination` are per chunk and stand for sets of collective ranks: those
/// that contribute to it before (one alone holds it, several are summed: `reducing`), and those that must hold it
/// after.
struct Conditions {
  std::span<const int32_t> ranks;   ///< topology rank of each collective rank
  std::span<const int32_t> relays;  ///< other nodes of the topology where chunks may stay on their way
  const RankSets& sets;
  std::span<const int32_t> origin;
  std::span<const int32_t> destination;
  std::span<const int64_t> chunk_bytes;
  std::span<const bool> sent;  ///< a chunk that is not (it has no bytes) need not get anywhere

  /// A rank alone sums up nothing.
  bool reducing(int64_t chunk) const { return origin[chunk] < 0; }
};

/// How long every link is held in total, by link id.
using LinkBusy = std::vector<Picoseconds>;

/// Throws ScheduleError, naming the first violation, unless the schedule does the collective: its transfers run between
/// ranks of the group and relays; when `timed`, each lasts at least latency + serialization and no link
/// is held by two at once; each source holds the chunk when it sends it; no contribution is summed twice; at the end
/// every chunk is, with every contribution exactly once, where it must be. Works chunk by chunk: memory O(ranks^2) bits
/// besides the columns.
LinkBusy verify(const Transfers& transfers, const Conditions& conditions, bool timed, bool blocking);

}  // namespace hocket::schedule
