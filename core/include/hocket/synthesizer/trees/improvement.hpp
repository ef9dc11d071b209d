#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/trees/schedule.hpp"

namespace hocket::synthesizer {

/// The best of `passes` schedules, alternately forwards and backwards, each with the order of the one before it
/// (forward-backward improvement: Li and Willis, 1992). Stops at the first that takes at most `target_ps`.
TimedLegs best_schedule(const Lanes& lanes, const Legs& legs, Picoseconds interval, int passes, Picoseconds target_ps,
                        const Stop& stop);

struct ReducingTransfers {
  Transfers transfers;
  std::vector<uint8_t> reduce;  ///< of each transfer: whether the receiver adds
};

/// The legs and their images: image e of the trees' chunk c is chunk c * order + e, of so many bytes. What is smaller
/// than the network's chunks is as long under way as it takes, and starts no sooner.
ReducingTransfers transfers(const Network& network, const Lanes& lanes, const Legs& legs, const TimedLegs& timed,
                            std::span<const int64_t> chunk_bytes);

}  // namespace hocket::synthesizer
