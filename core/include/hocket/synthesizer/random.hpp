#pragma once

#include <bit>
#include <cstdint>

#include "hocket/splitmix.hpp"

namespace hocket::synthesizer {

/// The finalizer of MurmurHash3: a bijection of 64 bits whose output bits all depend on every input bit.
inline uint64_t hash(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

/// SplitMix (Steele, Lea, Flood 2014) with the finalizer above: the same numbers on every machine, unlike <random>'s
/// distributions.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(hash(seed)) {}
  uint64_t next() { return hash(state_ += kSplitMixStep); }
  /// A number in 0..limit-1.
  uint64_t below(uint64_t limit) { return next() % limit; }

 private:
  uint64_t state_;
};

/// The first set bit of `bits` (not 0) at or after position `start`, cyclic.
inline int bit_from(uint64_t bits, int start) { return (std::countr_zero(std::rotr(bits, start)) + start) & 63; }

}  // namespace hocket::synthesizer
