#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace hocket::synthesizer {

/// Where threads meet between two phases of microseconds each. Who waits spins first, since sleeping costs more than
/// such a phase, but gives its core away soon and then sleeps, since another thread may need it.
/// std::barrier sleeps too soon for rounds of tens of microseconds, and its completion may not know the phase's data.
class PhaseBarrier {
 public:
  explicit PhaseBarrier(int32_t threads) : threads_(threads) {}

  /// Returns when all threads are here and the last of them has run its `between`, alone.
  template <typename Between>
  void meet(Between between) {
    // The phase is read before arriving: once the last has arrived it may have changed already. The release and acquire
    // on it order all that threads wrote in a phase before all that they read in the next.
    const uint32_t phase = phase_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      between();
      phase_.store(phase + 1, std::memory_order_release);
      phase_.notify_all();
      return;
    }
    for (int spin = 0; spin < kSpins; spin++) {
      if (phase_.load(std::memory_order_acquire) != phase) return;
      if (spin >= kPoliteSpins) std::this_thread::yield();
    }
    phase_.wait(phase, std::memory_order_acquire);
  }

 private:
  static constexpr int kSpins = 4000, kPoliteSpins = 3900;

  const int32_t threads_;
  std::atomic<int32_t> arrived_ = 0;
  std::atomic<uint32_t> phase_ = 0;
};

}  // namespace hocket::synthesizer
