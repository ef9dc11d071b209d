#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hocket::schedule {

/// Vector clocks as in `Clocks`, for logs of which most events touch nothing that is asked about: one that learns
/// nothing beyond what one of its causes knew has that one's clock, and takes no memory and no time for the others.
///
/// Invariant: a clock that more than one event has is never written to (`own` copies first), so handing one on is O(1).
class SharedClocks {
 public:
  SharedClocks(int64_t num_events, int64_t width) : width_(width), clock_(num_events), entries_(width) {}

  /// What is done before `cause` is done before `event`; all causes of an event are given before the next event's.
  void join(int64_t event, int64_t cause) {
    const int64_t mine = clock_[event], other = clock_[cause];
    if (mine == other || other == kNothing) return;
    if (mine == kNothing) {
      clock_[event] = other;
      return;
    }
    int32_t ahead = 0, behind = 0;  // not bool: compilers make vector code of these
    const int32_t* a = entries_.data() + mine * width_;
    const int32_t* b = entries_.data() + other * width_;
    for (int64_t k = 0; k < width_; k++) {
      ahead |= -(a[k] > b[k]);
      behind |= -(a[k] < b[k]);
    }
    if (behind == 0) return;
    if (ahead == 0) {
      clock_[event] = other;
      return;
    }
    int32_t* joined = own(event);
    b = entries_.data() + other * width_;
    for (int64_t k = 0; k < width_; k++) joined[k] = std::max(joined[k], b[k]);
  }

  /// `event` itself is the `index`-th of `chain`.
  void tick(int64_t event, int32_t chain, int32_t index) { own(event)[chain] = index + 1; }

  /// Whether the `index`-th event of `chain` is done before `event` is.
  bool covers(int64_t event, int32_t chain, int32_t index) const {
    return entries_[clock_[event] * width_ + chain] > index;
  }

 private:
  static constexpr int64_t kNothing = 0;

  /// The event's clock, which no other event has.
  int32_t* own(int64_t event) {
    const int64_t newest = std::ssize(entries_) / width_ - 1;
    if (owner_ != event || clock_[event] != newest) {
      const int64_t shared = clock_[event];
      entries_.resize(entries_.size() + width_);
      std::copy_n(entries_.begin() + shared * width_, width_, entries_.end() - width_);
      clock_[event] = newest + 1;
      owner_ = event;
    }
    return entries_.data() + clock_[event] * width_;
  }

  int64_t width_;
  std::vector<int64_t> clock_;    ///< of each event
  std::vector<int32_t> entries_;  ///< of each clock
  int64_t owner_ = -1;            ///< whose the newest clock is
};

}  // namespace hocket::schedule
