#pragma once

#include <atomic>
#include <cstdint>

#include "hocket/error.hpp"

namespace hocket::synthesizer {

/// How other threads talk to a running search: they ask it to end, and read how far it is.
class Stop {
 public:
  void ask() { asked_.store(true, std::memory_order_relaxed); }
  bool asked() const { return asked_.load(std::memory_order_relaxed); }
  /// What engines call now and then, every millisecond or so. Throws Stopped when asked to end.
  void check() const {
    if (asked()) throw Stopped("the search was stopped before it found a schedule; give it more time");
  }

  /// `done` of `total` deliveries are found.
  void report(int64_t done, int64_t total) {
    done_.store(done, std::memory_order_relaxed);
    total_.store(total, std::memory_order_relaxed);
  }
  int64_t done() const { return done_.load(std::memory_order_relaxed); }
  int64_t total() const { return total_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> asked_ = false;
  std::atomic<int64_t> done_ = 0, total_ = 0;
};

}  // namespace hocket::synthesizer
