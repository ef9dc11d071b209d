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

  /// `done` of `total` deliveries are found. One number, so that who reads it between two attempts sees one of them.
  void report(int64_t done, int64_t total) {
    found_.store(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0, std::memory_order_relaxed);
  }
  /// The share of the deliveries that this attempt has found, from 0 to 1.
  double found() const { return found_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> asked_ = false;
  std::atomic<double> found_ = 0;
};

}  // namespace hocket::synthesizer
