#pragma once

#include <cstdint>
#include <span>

#include "hocket/time.hpp"

namespace hocket::synthesizer {

/// When rounds happen. A chunk that a link takes in round r leaves at start(r) and has arrived at finish(r).
struct RoundTimes {
  Picoseconds length_ps;
  Picoseconds travel_ps;

  Picoseconds start(int64_t round) const { return round * length_ps; }
  Picoseconds finish(int64_t round) const { return start(round) + travel_ps; }
};

/// Receives what the engine `rounds` decides while it runs, so that a schedule need not fit in memory.
class RoundSink {
 public:
  virtual ~RoundSink() = default;

  /// In round `round` link `links[i]` takes chunk `chunks[i]`: ids of the network's links, ascending and each at most
  /// once, and of the collective's chunks. Of a folded search only the links into representatives are told; all others
  /// are their images. Called for round 0, 1, 2, ... up to the last in which something moves, by one thread at a time,
  /// with rounds between in which nothing does. The spans end with the call. What it throws ends the search.
  virtual void take(int64_t round, std::span<const int32_t> links, std::span<const int32_t> chunks) = 0;
};

}  // namespace hocket::synthesizer
