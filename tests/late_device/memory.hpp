#pragma once

#include <c10/core/Allocator.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "streams.hpp"

namespace late {

constexpr c10::DeviceType kLate = c10::DeviceType::PrivateUse1;

/// Memory of the device: the host's, never given back, so that a use after the end is seen and does not crash.
///
/// As CUDA's caching allocator: a block belongs to the stream that was current when it was taken; freed, it is that
/// stream's again at once, unless it was recorded on other streams, which are waited for first. What was freed is
/// filled with ones (NaN, or -1) in the order of its stream, as the next user's work would overwrite it.
class Memory final : public c10::Allocator {
 public:
  static Memory& get() {
    static auto* memory = new Memory;
    return *memory;
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device device(kLate, 0);
    if (bytes == 0) return {nullptr, nullptr, &Memory::release, device};
    Memory& memory = get();
    void* data = memory.take(bytes);
    return {data, data, &Memory::release, device};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &Memory::release; }

  void copy_data(void* target, const void* source, std::size_t bytes) const final {
    current_stream().push([=] { std::memcpy(target, source, bytes); });
  }

  void record(const void* data, c10::StreamId stream) {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(const_cast<void*>(data));
    if (found == live_.end() || found->second.home == stream) return;
    ++records_;
    found->second.users.insert(stream);
  }

  /// How often memory was recorded on another stream than its own.
  std::size_t records() {
    const std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  struct Block {
    void* data;
    std::size_t bytes;
    c10::StreamId home;
    std::set<c10::StreamId> users;
  };

  struct Freed {
    Block block;
    std::vector<std::shared_ptr<Mark>> users;
  };

  static void release(void* data) {
    if (data != nullptr) get().free(data);
  }

  void* take(std::size_t bytes) {
    const std::size_t rounded = (bytes + 511) / 512 * 512;
    const c10::StreamId home = current();
    reclaim();
    const std::lock_guard lock(mutex_);
    std::vector<void*>& kept = kept_[{home, rounded}];
    void* data = nullptr;
    if (!kept.empty()) {
      data = kept.back();
      kept.pop_back();
    } else {
      data = std::aligned_alloc(64, rounded);
      std::memset(data, kPoison, rounded);
    }
    live_[data] = {data, rounded, home, {}};
    return data;
  }

  void free(void* data) {
    Block block;
    {
      const std::lock_guard lock(mutex_);
      const auto found = live_.find(data);
      block = found->second;
      live_.erase(found);
    }
    Streams& streams = Streams::get();
    if (streams.at(block.home).capture() != nullptr) return;  // the graph's for good
    Freed freed{block, {}};
    for (const c10::StreamId user : block.users) freed.users.push_back(streams.at(user).record());
    const std::lock_guard lock(mutex_);
    if (freed.users.empty()) {
      give_back(block);
    } else {
      freed_.push_back(std::move(freed));
    }
  }

  /// Blocks that were recorded on other streams, where these have come past the end.
  void reclaim() {
    const std::lock_guard lock(mutex_);
    std::erase_if(freed_, [this](const Freed& freed) {
      for (const auto& mark : freed.users) {
        if (mark->captured == nullptr && !mark->is_reached()) return false;
      }
      give_back(freed.block);
      return true;
    });
  }

  void give_back(const Block& block) {
    Streams::get().at(block.home).push([data = block.data, bytes = block.bytes] { std::memset(data, kPoison, bytes); });
    kept_[{block.home, block.bytes}].push_back(block.data);
  }

  static constexpr int kPoison = 0xFF;

  std::mutex mutex_;
  std::map<void*, Block> live_;
  std::vector<Freed> freed_;
  std::map<std::pair<c10::StreamId, std::size_t>, std::vector<void*>> kept_;
  std::size_t records_ = 0;
};

}  // namespace late
