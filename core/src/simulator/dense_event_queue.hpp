#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "event_queue.hpp"
#include "hocket/time.hpp"

namespace hocket::simulator {

/// How long it is until what is looked ahead at happens.
enum class Ahead : uint8_t {
  kSoon,    // some tens of events
  kNext,    // some ten events
  kAtOnce,  // none but the others of the call
};

/// What EventQueue is, in fewer moves where events are many and close to each other, as those of packets are: a stable
/// radix heap with digits of eight bits, whose last digits are sorted. Events that differ from the base, a time that
/// has been reached, in their digit number `level` at the highest are in the bucket of that level and digit; those
/// before `near_end_` are in `near_`, sorted. Time never runs backwards, so an event only ever moves to lower levels,
/// and all its moves read and write memory in sequence. Moving keeps the order within a bucket and only ever fills
/// empty ones, hence equal times stay first in, first out without a sequence number. After Ahuja, Mehlhorn, Orlin and
/// Tarjan (1990): O(1) a push, and an event moves at most once a level.
class DenseEventQueue {
 public:
  bool empty() const { return next_ == near_.size() && levels_used_ == 0; }

  /// Whether an event of the instant of the last event popped is left.
  bool more_now() const { return next_ < near_.size() && near_[next_].time == now_; }

  /// Adds an event. Precondition: `event.time` is not before the time of the last event popped.
  void push(const Event& event) {
    if (static_cast<uint64_t>(event.time) >= near_end_) return put(event);
    if (near_.size() - next_ >= kMostNear && near_.back().time != now_) {
      spread();
      return push(event);
    }
    // From the back: behind all that come earlier or at the same time.
    size_t at = near_.size();
    near_.push_back(event);
    for (; at > next_ && near_[at - 1].time > event.time; at--) near_[at] = near_[at - 1];
    near_[at] = event;
  }

  /// Removes the first event. Precondition: not empty.
  Event pop() {
    return pop([](Ahead, std::span<const Event>) {});
  }

  /// The same. Where there are many events, `look(when, events)` sees nearly all of them before they are popped: once
  /// for each of `Ahead`, so that what they are about can be fetched from memory step by step.
  template <class Look>
  Event pop(Look&& look) {
    if (next_ == near_.size()) refill(look);
    const Event event = near_[next_++];
    now_ = event.time;
    return event;
  }

 private:
  static constexpr size_t kBits = 8, kDigits = 1 << kBits, kLevels = 64 / kBits;
  static constexpr size_t kSorted = 128;    // events up to which sorting is quicker than moving them further down
  static constexpr size_t kMostNear = 256;  // up to which an insertion is
  static constexpr size_t kEnough = 16;     // for which it is worth while to look at buckets

  /// The events whose highest digit that differs from the base's is the same one.
  struct Level {
    std::vector<std::vector<Event>> buckets;    // by digit; none until there is an event
    std::vector<std::vector<Event>> spare;      // memory of buckets that have become empty
    std::array<uint64_t, kDigits / 64> used{};  // bit d: the bucket of that digit holds events

    /// The first digit from this one on whose bucket holds events, or kDigits.
    size_t next(size_t digit) const {
      for (size_t word = digit / 64; word < used.size(); word++) {
        const uint64_t bits = word == digit / 64 ? used[word] & (~uint64_t{0} << digit % 64) : used[word];
        if (bits != 0) return 64 * word + static_cast<size_t>(std::countr_zero(bits));
      }
      return kDigits;
    }
  };

  /// Adds an event that is not near.
  void put(const Event& event) {
    const auto number = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(event.time ^ base_)) - 1) / kBits;
    const size_t digit = static_cast<uint64_t>(event.time) >> (kBits * number) & (kDigits - 1);
    Level& level = levels_[number];
    if (level.buckets.empty()) level.buckets.resize(kDigits);
    std::vector<Event>& bucket = level.buckets[digit];
    if (bucket.empty()) {
      if (!level.spare.empty()) {
        bucket.swap(level.spare.back());
        level.spare.pop_back();
      }
      level.used[digit / 64] |= uint64_t{1} << digit % 64;
      levels_used_ |= 1u << number;
    }
    bucket.push_back(event);
  }

  /// The bucket of the digit becomes empty.
  void clear(Level& level, size_t digit) {
    level.buckets[digit].clear();
    level.spare.emplace_back().swap(level.buckets[digit]);
    level.used[digit / 64] &= ~(uint64_t{1} << digit % 64);
  }

  /// The events of the earliest buckets are near, or move down from there.
  template <class Look>
  void refill(Look&& look) {
    near_.clear();
    next_ = 0;
    const auto number = static_cast<size_t>(std::countr_zero(levels_used_));
    Level& level = levels_[number];
    size_t digit = level.next(0);
    std::vector<Event>& earliest = level.buckets[digit];
    base_ = earliest.front().time;
    if (earliest.size() > kSorted) {
      if (number == 0) {
        near_.swap(earliest);
        near_end_ = static_cast<uint64_t>(base_) + 1;
      } else {
        for (const Event& event : earliest) base_ = std::min(base_, event.time);
        move_down(earliest);
      }
      clear(level, digit);
      digit = level.next(digit + 1);
    } else {
      const size_t bits = kBits * number;
      do {
        base_ = level.buckets[digit].front().time;
        sort(level.buckets[digit]);
        clear(level, digit);
        digit = level.next(digit + 1);
      } while (near_.size() < kEnough && digit < kDigits && level.buckets[digit].size() <= kSorted);
      near_end_ = ((static_cast<uint64_t>(base_) >> bits) + 1) << bits;
      look(Ahead::kAtOnce, std::span<const Event>(near_));
      const size_t soon = look_at(level, digit, Ahead::kNext, look);
      look_at(level, soon, Ahead::kSoon, look);
    }
    if (digit == kDigits) levels_used_ &= ~(1u << number);
  }

  /// Looks at enough events of the buckets from this digit on; returns the digit after them.
  template <class Look>
  static size_t look_at(const Level& level, size_t digit, Ahead when, Look&& look) {
    size_t seen = 0;
    for (digit = level.next(digit); seen < kEnough && digit < kDigits; digit = level.next(digit + 1)) {
      look(when, std::span<const Event>(level.buckets[digit]));
      seen += level.buckets[digit].size();
    }
    return digit;
  }

  /// Insertion sort behind what is near and earlier: stable, and the events are few.
  void sort(const std::vector<Event>& events) {
    const size_t begin = near_.size();
    near_.resize(begin + events.size());
    for (size_t count = 0; count < events.size(); count++) {
      const Event event = events[count];
      size_t at = begin + count;
      for (; at > begin && near_[at - 1].time > event.time; at--) near_[at] = near_[at - 1];
      near_[at] = event;
    }
  }

  /// Only those of the base's time stay near.
  void move_down(std::span<const Event> events) {
    near_end_ = static_cast<uint64_t>(base_) + 1;
    for (const Event& event : events) event.time == base_ ? near_.push_back(event) : put(event);
  }

  /// More have become near than insertions should move.
  void spread() {
    const std::vector<Event> events(near_.begin() + static_cast<std::ptrdiff_t>(next_), near_.end());
    near_.clear();
    next_ = 0;
    base_ = now_;  // no other is on these levels
    move_down(events);
  }

  std::array<Level, kLevels> levels_;
  uint32_t levels_used_ = 0;  // bit l: a bucket of that level holds events
  std::vector<Event> near_;
  size_t next_ = 0;        // first near event that is still to come
  uint64_t near_end_ = 1;  // no earlier event is in a bucket
  Picoseconds base_ = 0;
  Picoseconds now_ = 0;  // of the last event popped
};

}  // namespace hocket::simulator
