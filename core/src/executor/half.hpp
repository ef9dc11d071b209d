#pragma once

#include <bit>
#include <cstdint>

namespace hocket::executor {

// Conversions of the 16-bit floats without branches, so that loops over them become vector code on any x86-64.

inline float widen_bfloat16(uint16_t value) { return std::bit_cast<float>(static_cast<uint32_t>(value) << 16); }

/// Round to nearest even: half of the last place less one, and one more where the last bit is odd. A not-a-number keeps
/// being one (0x7fc0), whose payload might else be rounded away.
inline uint16_t narrow_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
}

inline float widen_float16(uint16_t value) {
  const uint32_t shifted = (value & 0x7fffu) << 13;
  // A subnormal has no leading 1: given one, and it taken away by a subtraction. (As a float's own subnormal it would
  // be right too, but processors take a hundred times as long for those.)
  const float subnormal = std::bit_cast<float>(shifted + (113u << 23)) - 0x1p-14f;
  const uint32_t rebiased = shifted + (112u << 23);
  const uint32_t special = shifted | 0x7f800000u;  // infinity or not a number
  const uint32_t finite = shifted < 1u << 23 ? std::bit_cast<uint32_t>(subnormal) : rebiased;
  return std::bit_cast<float>((shifted >= 31u << 23 ? special : finite) | (value & 0x8000u) << 16);
}

inline uint16_t narrow_float16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  const uint32_t sign = std::bit_cast<uint32_t>(value) >> 31 << 15;
  // Adding 0.5 leaves a subnormal's ten bits, rounded, at the end of the sum.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  const uint32_t normal = (bits - (112u << 23) + 0xfff + ((bits >> 13) & 1)) >> 13;
  const uint32_t finite = bits < 113u << 23 ? subnormal : normal;
  const uint32_t special = bits > 0x7f800000 ? 0x7e00u : 0x7c00u;
  return static_cast<uint16_t>((bits >= 143u << 23 ? special : finite) | sign);
}

}  // namespace hocket::executor
