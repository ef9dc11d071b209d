/// The records that are under way.
#pragma once
#include <atomic>
#include <cstdint>

#include "handle_pool.hpp"
#include "record_file.hpp"

namespace hocket::nccl {

struct Communicator;

/// A record under way.
struct alignas(64) Entry {
  std::atomic<uint64_t> word{0};
  Handle parent = 0;
  const Communicator* communicator = nullptr;
  Slot slot;
  /// What the totals hold of it.
  std::atomic<bool> counted{false};
  std::atomic<int64_t> counted_ns{0};
};

using RecordPool = HandlePool<Entry>;

}  // namespace hocket::nccl
