#pragma once

#include <cstdint>
#include <span>

#include "hocket/synthesizer/network.hpp"

namespace hocket::synthesizer {

/// How many rounds of the links' hold time pass until a chunk has arrived and may be sent on.
int64_t rounds_per_hop(const Network& network);

/// Matching for uniform networks, in rounds of one transfer a link: every rank picks a chunk it lacks for each of its
/// incoming links. Tens of nanoseconds a transfer; two bits a pair of rank and chunk beside the result.
///
/// Brings every chunk from its origin to all ranks. A chunk picked in round r is sent on from round
/// r + `rounds_per_hop`; that is 1 with rounds as long as a link's travel time, else the function above with rounds as
/// long as its hold time. The same transfers for any number of threads. Throws Infeasible when a rank cannot be
/// reached.
Transfers match_rounds(const Network& network, std::span<const int32_t> origin, int64_t rounds_per_hop, uint64_t seed,
                       int threads);

/// The best of `attempts` runs, stopping at the first that takes at most `target_ps`. Throws ScheduleError when the
/// network is not uniform.
Transfers match_rounds_best(const Network& network, std::span<const int32_t> origin, uint64_t seed, int attempts,
                            Picoseconds target_ps, int threads);

}  // namespace hocket::synthesizer
