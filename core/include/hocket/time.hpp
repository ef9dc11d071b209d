#pragma once

#include <cstdint>
#include <limits>

#include "hocket/error.hpp"

namespace hocket {

/// Integer picoseconds: the only time inside the core. 2^63 ps is 106 days.
using Picoseconds = int64_t;
/// Bytes per second (1 GB/s = 10^9, 1 GiB/s = 2^30).
using Bandwidth = int64_t;

inline constexpr int64_t kPicosecondsPerSecond = 1'000'000'000'000;

/// The longest time that the engine works with, 26 days: sums of a few such times still fit.
inline constexpr Picoseconds kHorizon = Picoseconds{1} << 61;

/// `time`, when it is not beyond the horizon. Throws Infeasible.
template <typename Time>
Picoseconds within_horizon(Time time) {
  if (time > kHorizon) {
    throw Infeasible(
        "this takes more than 26 days (2^61 ps), the longest time there is: check the units of sizes, "
        "bandwidths and latencies");
  }
  return static_cast<Picoseconds>(time);
}

/// Time that `bytes` occupy a wire of `bandwidth` bytes/s, rounded up: exact, the same on every machine.
inline __int128 exact_serialization_ps(int64_t bytes, Bandwidth bandwidth) {
  return (static_cast<__int128>(bytes) * kPicosecondsPerSecond + bandwidth - 1) / bandwidth;
}

/// The same as a time. Throws Infeasible when it is beyond the horizon.
inline Picoseconds serialization_ps(int64_t bytes, Bandwidth bandwidth) {
  return within_horizon(exact_serialization_ps(bytes, bandwidth));
}

/// Later than every time.
inline constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

/// The sum of two times >= 0; what would pass the largest time (106 days) stays there, before kNever.
inline Picoseconds add_ps(Picoseconds a, Picoseconds b) { return b < kNever - a ? a + b : kNever - 1; }

}  // namespace hocket
