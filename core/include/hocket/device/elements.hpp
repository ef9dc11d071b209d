#pragma once

#include "hocket/device/target.hpp"

// Element types and reductions. Types of fewer than 32 bits are computed as floats and rounded to nearest even once an
// operation; integers wrap.

namespace hocket::device {

/// The bits of a value as another type's.
template <typename To, typename From>
HOCKET_DEVICE To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  union {
    From from;
    To to;
  } both{value};
  return both.to;
}

/// How elements lie in memory (`Stored`) and what they are computed as.
template <typename T>
struct Plain {
  using Stored = T;
  HOCKET_DEVICE static T load(T value) { return value; }
  HOCKET_DEVICE static T store(T value) { return value; }
};

struct Bfloat16 {
  using Stored = uint16_t;
  HOCKET_DEVICE static float load(uint16_t value) { return bits_as<float>(static_cast<uint32_t>(value) << 16); }
  HOCKET_DEVICE static uint16_t store(float value) {
#if HOCKET_ON_GPU && defined(__CUDACC__)
    uint16_t narrow;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow) : "f"(value));
    return narrow;
#else
    const uint32_t bits = bits_as<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : rounded);
#endif
  }
};

/// A float of `kExponent` and `kMantissa` bits, as which float32 is narrowed: round to nearest even. Where it has
/// infinities what is too large becomes one, else the largest number, as in PyTorch from 2.15 on and in CUDA's headers.
template <typename T, int kExponent, int kMantissa, bool kHasInfinity>
struct Narrow {
  using Stored = T;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr uint32_t kMask = (1u << (kExponent + kMantissa)) - 1;
  static constexpr int kShift = 23 - kMantissa;
  static constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;

  HOCKET_DEVICE static float load(T value) {
    const uint32_t shifted = (value & kMask) << kShift;
    // A subnormal has no leading 1: given one, and it taken away by a subtraction.
    const float smallest = bits_as<float>(kRebias + (1u << 23));
    const float subnormal = bits_as<float>(shifted + kRebias + (1u << 23)) - smallest;
    uint32_t bits = shifted < 1u << 23 ? bits_as<uint32_t>(subnormal) : shifted + kRebias;
    if constexpr (kHasInfinity) {
      if (shifted >= ((1u << kExponent) - 1) << 23) bits = shifted | 0x7f800000u;
    } else if ((value & kMask) == kMask) {
      bits = 0x7fffffffu;
    }
    const uint32_t sign = static_cast<uint32_t>(value >> (kExponent + kMantissa)) & 1;
    return bits_as<float>(bits | sign << 31);
  }

  HOCKET_DEVICE static T store(float value) {
    const uint32_t bits = bits_as<uint32_t>(value) & 0x7fffffff;
    const uint32_t sign = bits_as<uint32_t>(value) >> 31 << (kExponent + kMantissa);
    // Adding a power of two leaves a subnormal's bits, rounded, at the end of the sum.
    const uint32_t magic = static_cast<uint32_t>(127 - kBias + 1 + kShift) << 23;
    const uint32_t subnormal = bits_as<uint32_t>(bits_as<float>(bits) + bits_as<float>(magic)) - magic;
    const uint32_t odd = (bits >> kShift) & 1;
    const uint32_t normal = (bits - kRebias + (1u << (kShift - 1)) - 1 + odd) >> kShift;
    uint32_t result = bits < kRebias + (1u << 23) ? subnormal : normal;
    constexpr uint32_t kInfinity = kMask & ~((1u << kMantissa) - 1);
    if constexpr (kHasInfinity) {
      if (bits >= kRebias + (static_cast<uint32_t>((1 << kExponent) - 1) << 23) || result > kInfinity) {
        result = kInfinity;
      }
      if (bits > 0x7f800000) result = kInfinity | 1u << (kMantissa - 1);
    } else if (bits > 0x7f800000) {
      result = kMask;
    } else if (result >= kMask) {
      result = kMask - 1;
    }
    return static_cast<T>(result | sign);
  }
};

#if HOCKET_ON_GPU && defined(__CUDACC__)
/// By the GPU's own instructions.
struct Float16 {
  using Stored = uint16_t;
  HOCKET_DEVICE static float load(uint16_t value) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value));
    return wide;
  }
  HOCKET_DEVICE static uint16_t store(float value) {
    uint16_t narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow) : "f"(value));
    return narrow;
  }
};
#else
using Float16 = Narrow<uint16_t, 5, 10, true>;
#endif
using Float8E4m3 = Narrow<uint8_t, 4, 3, false>;
using Float8E5m2 = Narrow<uint8_t, 5, 2, true>;

/// An integer that is added and multiplied without undefined overflow.
template <typename T>
struct Wrapping {
  using Type = T;
};
template <>
struct Wrapping<int8_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<int16_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<uint16_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<int32_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using Type = uint64_t;
};

struct Sum {
  template <typename T>
  HOCKET_DEVICE static T apply(T left, T right) {
    using Type = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<Type>(left) + static_cast<Type>(right));
  }
};

struct Prod {
  template <typename T>
  HOCKET_DEVICE static T apply(T left, T right) {
    using Type = typename Wrapping<T>::Type;
    return static_cast<T>(static_cast<Type>(left) * static_cast<Type>(right));
  }
};

struct Max {
  template <typename T>
  HOCKET_DEVICE static T apply(T left, T right) {
    return left < right ? right : left;
  }
};

struct Min {
  template <typename T>
  HOCKET_DEVICE static T apply(T left, T right) {
    return right < left ? right : left;
  }
};

/// What a program does with elements of one type.
template <typename Element, typename Reduction>
struct Arithmetic {
  using Stored = typename Element::Stored;
  static constexpr int32_t kBytes = sizeof(Stored);

  HOCKET_DEVICE static Stored combine(Stored left, Stored right) {
    return Element::store(Reduction::apply(Element::load(left), Element::load(right)));
  }
  /// As what an element is computed, where several are combined and rounded once.
  using Wide = decltype(Element::load(Stored{}));
  HOCKET_DEVICE static Wide widened(Stored value) { return Element::load(value); }
  HOCKET_DEVICE static Wide combine_wide(Wide left, Wide right) { return Reduction::apply(left, right); }
  HOCKET_DEVICE static Stored narrowed(Wide value) { return Element::store(value); }
  HOCKET_DEVICE static Stored divide(Stored value, int32_t by) {
    const auto whole = Element::load(value);
    return Element::store(whole / static_cast<decltype(whole)>(by));
  }
  /// Element by element of a word, or a pack.
  template <typename Unit>
  HOCKET_DEVICE static Unit combine_each(const Unit& left, const Unit& right) {
    constexpr int32_t kCount = sizeof(Unit) / sizeof(Stored);
    union Elements {
      Unit unit;
      Stored each[kCount];
    };
    Elements a{left}, b{right}, result;
#if HOCKET_ON_GPU
#pragma unroll
#endif
    for (int32_t k = 0; k < kCount; k++) result.each[k] = combine(a.each[k], b.each[k]);
    return result.unit;
  }
};

}  // namespace hocket::device
