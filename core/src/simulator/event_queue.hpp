#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hocket/time.hpp"

namespace hocket::simulator {

/// Something that happens at a time; what it is, only the model that scheduled it knows.
struct Event {
  Picoseconds time;
  uint32_t kind;
  uint32_t id;
};

/// Future events, earliest first, in the order of their `push` where times are equal: a stable radix heap. Bucket b
/// holds the events whose time differs from the last popped time in bit b-1 at the highest. Time never runs backwards,
/// so an event only ever moves to lower buckets, and all its moves read and write memory in sequence. Moving keeps the
/// order within a bucket and only ever fills empty ones, hence equal times stay first in, first out without a sequence
/// number. After Ahuja, Mehlhorn, Orlin and Tarjan (1990): O(1) a push, and an event moves at most 62 times in its
/// life.
class EventQueue {
 public:
  bool empty() const { return next_ == buckets_[0].size() && occupied_ == 0; }

  /// Whether an event of the instant of the last event popped is left.
  bool more_now() const { return next_ < buckets_[0].size(); }

  /// Adds an event. Precondition: `event.time` is not before the time of the last event popped.
  void push(const Event& event) {
    // Times are at most the horizon of 2^61, so the bucket is at most 62.
    const int bucket = std::bit_width(static_cast<uint64_t>(event.time ^ now_));
    buckets_[bucket].push_back(event);
    occupied_ |= (uint64_t{1} << bucket) & ~uint64_t{1};
  }

  /// Removes the first event. Precondition: not empty.
  Event pop() {
    if (next_ == buckets_[0].size()) refill();
    return buckets_[0][next_++];
  }

 private:
  /// Moves time to the earliest event and with it the events of the lowest occupied bucket further down.
  void refill() {
    buckets_[0].clear();
    next_ = 0;
    std::vector<Event>& lowest = buckets_[std::countr_zero(occupied_)];
    occupied_ &= occupied_ - 1;
    now_ = lowest.front().time;
    for (const Event& event : lowest) now_ = event.time < now_ ? event.time : now_;
    for (const Event& event : lowest) push(event);
    lowest.clear();
  }

  std::array<std::vector<Event>, 64> buckets_;
  uint64_t occupied_ = 0;  // bit b: bucket b > 0 holds events
  size_t next_ = 0;        // first event of bucket 0 that is still to come
  Picoseconds now_ = 0;
};

}  // namespace hocket::simulator
