#pragma once

#include <cstdint>
#include <vector>

#include "hocket/synthesizer/trees_schedule.hpp"

namespace hocket::synthesizer {

/// Due times to begin with: chunk c has to be done by c * interval, and each of its legs as long before as what follows
/// it takes.
LegTimes due_times(const Network& network, const Trees& trees, Picoseconds interval);

/// The best of `passes` schedules, alternately forwards and backwards, each with the finishes of the one before it as
/// due times (forward-backward improvement: Li and Willis, 1992). Stops at the first that takes at most `target_ps`.
TimedLegs best_schedule(const Network& network, const Trees& trees, Picoseconds interval, int passes,
                        Picoseconds target_ps, const Stop& stop);

struct ReducingTransfers {
  Transfers transfers;
  std::vector<uint8_t> reduce;  ///< of each transfer: whether the receiver adds
};

ReducingTransfers transfers(const Network& network, const Trees& trees, const TimedLegs& timed);

}  // namespace hocket::synthesizer
