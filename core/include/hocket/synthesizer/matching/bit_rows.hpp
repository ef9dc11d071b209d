#pragma once

#include <cstdint>
#include <vector>

namespace hocket::synthesizer {

/// Sets of chunks, one a row: a bit a chunk, 64 a word.
/// All rows in one allocation: a choice among candidates is an AND of three rows, 64 chunks an instruction, where TACOS
/// builds and copies hash sets (over 60 % of its time on a mesh of 20 x 20).
class BitRows {
 public:
  BitRows(int32_t rows, int32_t words) : words_(words), bits_(static_cast<size_t>(rows) * words, 0) {}
  uint64_t* operator[](int32_t row) { return bits_.data() + static_cast<size_t>(row) * words_; }
  const uint64_t* operator[](int32_t row) const { return bits_.data() + static_cast<size_t>(row) * words_; }

 private:
  int32_t words_;
  std::vector<uint64_t> bits_;
};

inline bool test(const uint64_t* set, int32_t chunk) { return set[chunk >> 6] >> (chunk & 63) & 1; }
inline void insert(uint64_t* set, int32_t chunk) { set[chunk >> 6] |= uint64_t{1} << (chunk & 63); }
inline void erase(uint64_t* set, int32_t chunk) { set[chunk >> 6] &= ~(uint64_t{1} << (chunk & 63)); }

}  // namespace hocket::synthesizer
