#pragma once

#include <array>
#include <cstdint>

namespace hocket::synthesizer {

/// The bits of a word at the places `place ^ element`: what an element of Orbits makes of a set of 64 chunks.
/// XOR of a bit's place by 1, 2, 4, .. swaps neighbouring bits, pairs, nibbles, ..: six masked shifts instead of 64
/// moves (Knuth, The Art of Computer Programming 7.1.3).
inline uint64_t permuted(uint64_t bits, int32_t element) {
  constexpr std::array<uint64_t, 6> kLower = {0x5555555555555555ULL, 0x3333333333333333ULL, 0x0f0f0f0f0f0f0f0fULL,
                                              0x00ff00ff00ff00ffULL, 0x0000ffff0000ffffULL, 0x00000000ffffffffULL};
  for (int power = 0; power < 6; power++) {
    if (element >> power & 1) bits = (bits & kLower[power]) << (1 << power) | (bits >> (1 << power) & kLower[power]);
  }
  return bits;
}

/// A cache line of chunks, one bit each.
/// One miss a look: a rank's choice reads two lines, what the source holds and what it lacks itself.
struct alignas(64) ChunkBlock {
  static constexpr int32_t kWords = 8;
  static constexpr int32_t kChunks = 64 * kWords;

  std::array<uint64_t, kWords> word{};

  void insert(uint32_t id) { word[id >> 6 & 7] |= uint64_t{1} << (id & 63); }
  void erase(uint32_t id) { word[id >> 6 & 7] &= ~(uint64_t{1} << (id & 63)); }
  bool contains(uint32_t id) const { return word[id >> 6 & 7] >> (id & 63) & 1; }
  bool any() const {
    uint64_t all = 0;
    for (uint64_t bits : word) all |= bits;
    return all != 0;
  }
};

/// What is in both, where the chunks of `held` are renamed by `element`.
inline ChunkBlock common(const ChunkBlock& held, int32_t element, const ChunkBlock& lacked) {
  ChunkBlock both;
  if (element == 0) {
    for (int w = 0; w < ChunkBlock::kWords; w++) both.word[w] = held.word[w] & lacked.word[w];
  } else {
    for (int w = 0; w < ChunkBlock::kWords; w++) both.word[w] = permuted(held.word[w], element) & lacked.word[w];
  }
  return both;
}

}  // namespace hocket::synthesizer
