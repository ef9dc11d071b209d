#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hocket/synthesizer/network.hpp"
#include "hocket/synthesizer/orbits.hpp"
#include "hocket/synthesizer/round_sink.hpp"
#include "hocket/synthesizer/stop.hpp"

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

/// Bytes that `search_rounds` needs.
int64_t round_search_bytes(int64_t num_ranks, int64_t num_links, int64_t num_chunks, int64_t order,
                           int64_t rounds_per_hop);

/// Matching for uniform networks, in rounds of one transfer a link: every rank picks a chunk it lacks for each of the
/// links that enter it. Two bits a pair of rank and chunk beside what `sink` keeps.
///
/// Brings every chunk from its origin to all ranks. Only representatives of `orbits` pick; all others do alike, so the
/// network must look the same from them: under every element, links become links, and the chunks of a rank those of its
/// image (name_chunks). Returns when the last chunk arrives, or nothing, once that cannot be below `below_ps`. Gives
/// the same to `sink` for any number of threads. Throws ScheduleError when the network is not uniform, Infeasible when
/// a rank cannot be reached or not within the horizon, Stopped.
std::optional<Picoseconds> search_rounds(const Network& network, const Orbits& orbits, std::span<const int32_t> origin,
                                         const RoundOptions& options, RoundSink& sink, Stop& stop);

}  // namespace hocket::synthesizer
