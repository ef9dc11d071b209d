#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/schedule/transfers.hpp"

namespace hocket::schedule {

struct Times {
  std::vector<Picoseconds> start;
  std::vector<Picoseconds> finish;
};

/// The earliest times that keep the order of the transfers on every link and their dependencies, with links that
/// carry what they have bandwidth for (LinkUse). Indexed by id, so no longer sorted by start. `reducing` says that
/// contributions are summed; then throws ScheduleError when a transfer would send other contributions at the new
/// times than at the old ones, and Infeasible when one is beyond the horizon.
Times retime(const Transfers& transfers, std::span<const int64_t> chunk_bytes, bool blocking, bool reducing);

}  // namespace hocket::schedule
