/// What is under way, behind handles that stay safe when NCCL uses them too late.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "index_queue.hpp"

namespace hocket::nccl {

/// What NCCL holds for an event: place in the pool (20 bits), generation of what lies there (32), mark of this process
/// (12, never 0). It is no address: a late one is recognised, nothing is touched.
using Handle = uint64_t;

/// A fixed number of entries; allocates when it is made and never again.
///
/// An entry is referenced by its own event until that is stopped and by every child until that is stopped. With no
/// reference left it joins a queue, first in, first out, and lives on until its turn comes to be taken again: NCCL
/// starts most children after it has stopped their parent, which references the entry anew.
///
/// The generation in the handle is what keeps late uses harmless (the ABA problem of reuse): NCCL may record a state
/// after the last stop, which crashed profilers that free on stop. First in, first out makes reuse as late as can be.
///
/// An Entry has a `std::atomic<uint64_t> word`, the pool's: generation (32 bits), whether it waits in the queue,
/// whether it was stopped, references (30 bits).
template <class Entry>
class HandlePool {
 public:
  static constexpr uint32_t kMost = (1 << 20) - 1;

  /// `mark` tells handles of this process from others', `second` those of a second pool in it.
  HandlePool(uint32_t entries, uint64_t mark, bool second = false)
      : entries_(std::make_unique<Entry[]>(entries)), idle_(entries) {
    mark_ = ((mark % 0x7ff + 1) << 1 | static_cast<uint64_t>(second)) << 52;
    for (uint32_t at = 0; at < entries; ++at) {
      entries_[at].word = kQueued;
      idle_.push(at);
    }
  }

  /// The entry that has been idle for longest, with one reference, for the event itself; null when all are under way.
  /// It still holds its former content.
  Entry* take() {
    uint32_t index;
    while (idle_.pop(index)) {
      Entry& entry = entries_[index];
      uint64_t word = entry.word.load(std::memory_order_acquire);
      for (;;) {
        // A late child may have referenced it meanwhile; then its last reference queues it again.
        const bool idle = (word & kReferences) == 0;
        const uint64_t next = idle ? ((word >> 32) + 1) << 32 | 1 : word & ~kQueued;
        if (!entry.word.compare_exchange_weak(word, next, std::memory_order_acq_rel)) continue;
        if (idle) return &entry;
        break;
      }
    }
    return nullptr;
  }

  /// The handle of an entry that the caller holds a reference to.
  Handle handle(const Entry& entry) const {
    const uint64_t generation = entry.word.load(std::memory_order_relaxed) >> 32;
    return mark_ | generation << 20 | static_cast<uint64_t>(&entry - entries_.get());
  }

  /// A handle of this process that is no entry's.
  Handle none() const { return mark_ | kMost; }

  /// The entry of a handle that the caller holds a reference to.
  Entry& held(Handle handle) { return entries_[handle & kMost]; }

  /// The entry of a handle with one reference more; null for a handle whose entry was taken again, or foreign.
  Entry* acquire(Handle handle) {
    return change(handle, [](uint64_t& word) {
      ++word;
      return true;
    });
  }

  /// The entry of a handle whose event stops, which passes its reference to the caller; null as above, and for an
  /// event that was stopped before.
  Entry* stop(Handle handle) {
    return change(handle, [](uint64_t& word) {
      const bool first = (word & kStopped) == 0;
      word |= kStopped;
      return first;
    });
  }

  /// Gives a reference back. Calls settle(entry) before what may be the last one, perhaps more than once.
  template <class Settle>
  void release(Entry& entry, Settle settle) {
    uint64_t word = entry.word.load(std::memory_order_acquire);
    for (;;) {
      uint64_t next = word - 1;
      const bool last = (next & kReferences) == 0;
      if (last) settle(entry);
      if (last) next |= kQueued;
      if (!entry.word.compare_exchange_weak(word, next, std::memory_order_acq_rel)) continue;
      // Queued at most once: the bit and the reference count change in one compare-and-swap.
      if (last && (word & kQueued) == 0) idle_.push(static_cast<uint32_t>(&entry - entries_.get()));
      return;
    }
  }

 private:
  static constexpr uint64_t kQueued = 1u << 31;
  static constexpr uint64_t kStopped = 1u << 30;
  static constexpr uint64_t kReferences = kStopped - 1;

  template <class Next>
  Entry* change(Handle handle, Next next) {
    const uint64_t index = handle & kMost;
    if ((handle & ~((uint64_t{1} << 52) - 1)) != mark_ || index >= idle_.size()) return nullptr;
    Entry& entry = entries_[index];
    uint64_t word = entry.word.load(std::memory_order_acquire);
    for (;;) {
      uint64_t changed = word;
      if (word >> 32 != (handle >> 20 & 0xffffffff) || !next(changed)) return nullptr;
      if (entry.word.compare_exchange_weak(word, changed, std::memory_order_acq_rel)) return &entry;
    }
  }

  const std::unique_ptr<Entry[]> entries_;
  IndexQueue idle_;
  uint64_t mark_;
};

}  // namespace hocket::nccl
