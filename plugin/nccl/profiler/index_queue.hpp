/// A bounded queue of indices for any number of threads, first in first out, without locks (Vyukov's).
#pragma once
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>

namespace hocket::nccl {

/// A cell's `turn` says whose it is: its own position when empty, one more when full, a round more when empty again. So
/// a producer and a consumer meet only at a cell, and never at both ends of the queue.
class IndexQueue {
 public:
  /// Holds up to `most` indices; allocates here and never again.
  explicit IndexQueue(uint32_t most)
      : size_(most), mask_(std::bit_ceil(most) - 1), cells_(std::make_unique<Cell[]>(std::bit_ceil(most))) {
    for (uint64_t at = 0; at <= mask_; ++at) cells_[at].turn.store(at, std::memory_order_relaxed);
  }

  uint32_t size() const { return size_; }

  /// There must be room: who holds each index at most once never needs more than `most`.
  void push(uint32_t index) {
    const uint64_t turn = tail_.fetch_add(1, std::memory_order_relaxed);
    Cell& cell = cells_[turn & mask_];
    while (cell.turn.load(std::memory_order_acquire) != turn) {  // Its last reader is about to leave it.
    }
    cell.index = index;
    cell.turn.store(turn + 1, std::memory_order_release);
  }

  /// False: none was there.
  bool pop(uint32_t& index) {
    uint64_t turn = head_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[turn & mask_];
      const auto ahead = static_cast<int64_t>(cell.turn.load(std::memory_order_acquire) - (turn + 1));
      if (ahead < 0) return false;
      if (ahead > 0) {
        turn = head_.load(std::memory_order_relaxed);
      } else if (head_.compare_exchange_weak(turn, turn + 1, std::memory_order_relaxed)) {
        index = cell.index;
        cell.turn.store(turn + mask_ + 1, std::memory_order_release);
        return true;
      }
    }
  }

 private:
  struct Cell {
    std::atomic<uint64_t> turn;
    uint32_t index;
  };

  const uint32_t size_;
  const uint64_t mask_;
  const std::unique_ptr<Cell[]> cells_;
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace hocket::nccl
