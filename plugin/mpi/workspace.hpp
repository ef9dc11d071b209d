/// Memory for calls, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hocket::mpi {

/// Keeps what it gave from call to call, up to a bound: the pages of new memory cost more than what is done with them.
class Workspace {
 public:
  /// Everything that `Take` gave is free again.
  void Begin() {
    taken_ = 0;
    if (held_ > kMostHeld) slabs_.clear(), held_ = 0;
  }

  /// Uninitialized memory until the next `Begin`.
  std::byte* Take(int64_t bytes) {
    if (taken_ == slabs_.size()) slabs_.emplace_back();
    Slab& slab = slabs_[taken_++];
    if (slab.bytes < bytes) {
      held_ += bytes - slab.bytes;
      slab = {bytes, nullptr};  // freed before it grows
      slab.data.reset(new std::byte[static_cast<size_t>(bytes)]);
    }
    return slab.data.get();
  }

 private:
  static constexpr int64_t kMostHeld = 64 << 20;

  struct Slab {
    int64_t bytes = 0;
    std::unique_ptr<std::byte[]> data;
  };

  std::vector<Slab> slabs_;
  size_t taken_ = 0;
  int64_t held_ = 0;
};

}  // namespace hocket::mpi
