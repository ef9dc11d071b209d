#pragma once

#include <cstdint>

#include "hocket/time.hpp"

namespace hocket::simulator {

/// How many times as long a rank computes while it communicates: a fraction of at least 1.
struct Slowdown {
  int64_t numerator = 1;
  int64_t denominator = 1;

  bool active() const { return numerator > denominator; }
};

/// A computation under way that goes on more slowly at times, to the exact picosecond.
/// Counts in 1/numerator ps of work, of which full speed does `numerator` a picosecond and the slow one `denominator`:
/// both whole, so that no change of pace loses anything. Fits: a duration is below 2^61 and a numerator below 2^63.
class Work {
 public:
  Work() = default;
  /// Begins a node that takes `duration` at full speed.
  Work(int32_t node, Picoseconds duration, Picoseconds now, bool slow, const Slowdown& slowdown)
      : node_(node), slow_(slow), left_(static_cast<__int128>(duration) * slowdown.numerator) {
    go_on(now, slowdown);
  }

  /// The node, -1: none.
  int32_t node() const { return node_; }
  bool slow() const { return slow_; }
  Picoseconds done_at() const { return done_at_; }

  // Precondition: `now` is not after `done_at`.
  void change_pace(Picoseconds now, bool slow, const Slowdown& slowdown) {
    left_ -= static_cast<__int128>(now - since_) * speed(slowdown);
    slow_ = slow;
    go_on(now, slowdown);
  }

 private:
  /// Parts of 1/numerator ps of work done in a picosecond.
  int64_t speed(const Slowdown& slowdown) const { return slow_ ? slowdown.denominator : slowdown.numerator; }

  void go_on(Picoseconds now, const Slowdown& slowdown) {
    since_ = now;
    done_at_ = within_horizon(now + (left_ + speed(slowdown) - 1) / speed(slowdown));
  }

  int32_t node_ = -1;
  bool slow_ = false;
  Picoseconds since_ = 0;
  Picoseconds done_at_ = 0;
  __int128 left_ = 0;  // in 1/numerator ps at `since_`
};

}  // namespace hocket::simulator
