#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "hocket/chakra/columns.hpp"

namespace hocket::chakra {

/// Gives equal strings the same index, in order of first appearance, without copying them.
///
/// Open addressing with linear probing, at most half full, so a probe ends soon. Slots keep half of the hash: a string
/// is compared only when it most likely is the one.
class Interner {
 public:
  int32_t index(std::string_view text) { return index(text, hash_of(text)); }

  /// The index of each text. The table of many strings is larger than a cache: it is fetched a few texts ahead.
  void index_all(std::span<const std::string_view> texts, std::span<int32_t> indices) {
    constexpr size_t kAhead = 16;
    std::array<uint32_t, kAhead> hashes{};
    for (size_t i = 0; i < texts.size() + kAhead; i++) {
      uint32_t& hash = hashes[i % kAhead];
      if (i >= kAhead) indices[i - kAhead] = index(texts[i - kAhead], hash);
      if (i >= texts.size()) continue;
      hash = hash_of(texts[i]);
      __builtin_prefetch(&slots_[hash & mask_]);
    }
  }

  OwnedColumn<std::string_view> take() { return std::move(strings_); }

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t index = -1;
  };

  int32_t index(std::string_view text, uint32_t hash) {
    for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      Slot& entry = slots_[slot];
      if (entry.index < 0) return insert(entry, hash, text);
      if (entry.hash == hash && strings_[entry.index] == text) return entry.index;
    }
  }

  static uint64_t load(const char* from, size_t size) {
    uint64_t word = 0;
    std::memcpy(&word, from, size);
    return word;
  }

  static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ std::rotl(hash, 29);
  }

  /// Eight bytes a multiplication; the last word overlaps the one before it instead of being cut off.
  static uint32_t hash_of(std::string_view text) {
    uint64_t hash = text.size();
    const char* at = text.data();
    size_t left = text.size();
    for (; left > 8; left -= 8, at += 8) {
      hash = mix(hash, load(at, 8));
    }
    hash = text.size() >= 8 ? mix(hash, load(at + left - 8, 8)) : mix(hash, load(at, left));
    return static_cast<uint32_t>(hash >> 32);
  }

  int32_t insert(Slot& entry, uint32_t hash, std::string_view text);
  void grow();

  OwnedColumn<std::string_view> strings_;
  OwnedColumn<Slot> slots_ = OwnedColumn<Slot>(1024);
  size_t mask_ = slots_.size() - 1;
};

}  // namespace hocket::chakra
