#pragma once

#include <cstdint>

#include "hocket/synthesizer/network.hpp"
#include "hocket/synthesizer/rounds/orbits.hpp"
#include "hocket/synthesizer/rounds/sink.hpp"

namespace hocket::synthesizer {

/// How many rounds of the links' hold time pass until a chunk has arrived and may be sent on.
int64_t rounds_per_hop(const Network& network);

/// Rounds as long as a link's travel time when `rounds_per_hop` is 1, else as long as its hold time.
RoundTimes round_times(const Network& network, int64_t rounds_per_hop);

/// How chunks are chosen.
enum class RoundPolicy {
  kRandom,  ///< a random one; several rounds are settled at once where chunks abound
  kRarest,  ///< of eight random ones that which fewest ranks hold
};

struct RoundOptions {
  int64_t rounds_per_hop = 1;  ///< a chunk picked in round r is sent on from round r + rounds_per_hop
  RoundPolicy policy = RoundPolicy::kRandom;
  uint64_t seed = 0;
  int32_t threads = 1;
  Picoseconds below_ps = kHorizon + 1;  ///< what takes as long is of no use
};

/// The most threads that pay: with more, rounds would be too short to share.
int32_t worthwhile_threads(const Network& network, const Orbits& orbits);

/// Bytes that a RoundSearch needs.
int64_t round_search_bytes(int64_t num_ranks, int64_t num_links, int64_t num_chunks, int64_t order,
                           int64_t rounds_per_hop);

}  // namespace hocket::synthesizer
