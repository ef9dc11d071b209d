#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/schedule/transfers.hpp"

namespace hocket::schedule {

/// What a collective asks for. `origin` and `destination` are per chunk and count collective ranks: the one rank that
/// holds the chunk before (-1: every rank contributes), the one that must hold it after (-1: every rank).
struct Conditions {
  std::span<const int32_t> ranks;  ///< topology rank of each collective rank
  std::span<const int32_t> origin;
  std::span<const int32_t> destination;
  std::span<const int64_t> chunk_bytes;
  bool reducing;
};

/// How long every link is held in total, by link id.
using LinkBusy = std::vector<Picoseconds>;

/// Throws ScheduleError, naming the first violation, unless the schedule does the collective: its transfers run between
/// ranks of the group and switches that compute; when `timed`, each lasts at least latency + serialization and no link
/// is held by two at once; each source holds the chunk when it sends it; no contribution is summed twice; at the end
/// every chunk is, with every contribution exactly once, where it must be. Works chunk by chunk: memory O(ranks^2) bits
/// besides the columns.
LinkBusy verify(const Transfers& transfers, const Conditions& conditions, bool timed, bool blocking);

}  // namespace hocket::schedule
