// Arithmetic of NCCL's element types and reductions.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device.h"  // NCCL's

namespace hocket::stand_in {

/** What a work reduces: the device's operation, its argument as NCCL packs it, the element type. */
struct Reduction {
  ncclDevRedOp_t operation;
  ncclDataType_t type;
  uint64_t argument;
};

inline float half_to_float(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits >> 15) << 31, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  float value;
  if (exponent == 0) {
    value = static_cast<float>(fraction) * 5.9604644775390625e-8F;  // 2^-24
  } else {
    uint32_t wide = exponent == 31 ? 0x7f800000U | fraction << 13 : (exponent + 112) << 23 | fraction << 13;
    memcpy(&value, &wide, sizeof value);
  }
  return sign ? -value : value;
}
inline uint16_t float_to_half(float value) {
  _Float16 narrow = static_cast<_Float16>(value);
  uint16_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  return bits;
}
inline float bfloat_to_float(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}
inline uint16_t float_to_bfloat(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

struct Half {
  uint16_t bits;
  float value() const { return half_to_float(bits); }
  static Half of(float value) { return {float_to_half(value)}; }
};
struct Bfloat {
  uint16_t bits;
  float value() const { return bfloat_to_float(bits); }
  static Bfloat of(float value) { return {float_to_bfloat(value)}; }
};
template <typename Number>
struct Plain {
  Number bits;
  Number value() const { return bits; }
  static Plain of(Number value) { return {value}; }
};

/** `use(Element{})` with what the elements of a type are; false for types that are only copied here (fp8). */
template <typename Use>
bool with_element(ncclDataType_t type, const Use& use) {
  switch (type) {
    case ncclInt8:
      return use(Plain<int8_t>{}), true;
    case ncclUint8:
      return use(Plain<uint8_t>{}), true;
    case ncclInt32:
      return use(Plain<int32_t>{}), true;
    case ncclUint32:
      return use(Plain<uint32_t>{}), true;
    case ncclInt64:
      return use(Plain<int64_t>{}), true;
    case ncclUint64:
      return use(Plain<uint64_t>{}), true;
    case ncclFloat16:
      return use(Half{}), true;
    case ncclFloat32:
      return use(Plain<float>{}), true;
    case ncclFloat64:
      return use(Plain<double>{}), true;
    case ncclBfloat16:
      return use(Bfloat{}), true;
    default:
      return false;
  }
}

template <typename Number>
Number reduced(const Reduction& reduction, Number a, Number b) {
  switch (reduction.operation) {
    case ncclDevProd:
      return static_cast<Number>(a * b);
    case ncclDevMinMax: {
      // Integers: NCCL compares them xored with the argument, as unsigned. Others: its lowest bit says which.
      if constexpr (std::is_integral_v<Number>) {
        using Bits = std::make_unsigned_t<Number>;
        Bits mask = static_cast<Bits>(reduction.argument);
        return static_cast<Bits>(static_cast<Bits>(a) ^ mask) < static_cast<Bits>(static_cast<Bits>(b) ^ mask) ? a : b;
      } else {
        return ((reduction.argument & 1) == 0) == (a < b) ? a : b;
      }
    }
    default:
      return static_cast<Number>(a + b);
  }
}

/** `into[i]` becomes `into[i]` with `from[i]`. */
inline void reduce_into(const Reduction& reduction, void* into, const void* from, size_t count) {
  with_element(reduction.type, [&](auto element) {
    using Element = decltype(element);
    auto* a = static_cast<Element*>(into);
    const auto* b = static_cast<const Element*>(from);
    for (size_t i = 0; i < count; i++) a[i] = Element::of(reduced(reduction, b[i].value(), a[i].value()));
  });
}

/** What the operation does to a rank's own input before it is reduced: averages of floats scale there. */
inline void before_reduction(const Reduction& reduction, void* data, size_t count) {
  if (reduction.operation != ncclDevPreMulSum) return;
  with_element(reduction.type, [&](auto element) {
    using Element = decltype(element);
    Element factor;
    memcpy(&factor, &reduction.argument, sizeof factor);
    auto* a = static_cast<Element*>(data);
    for (size_t i = 0; i < count; i++)
      a[i] = Element::of(static_cast<decltype(a[i].value())>(a[i].value() * factor.value()));
  });
}

/** What it does to the whole sum: averages of integers divide there. The argument's lowest bit: whether signed. */
inline void after_reduction(const Reduction& reduction, void* data, size_t count) {
  if (reduction.operation != ncclDevSumPostDiv) return;
  uint64_t divisor = reduction.argument >> 1;
  with_element(reduction.type, [&](auto element) {
    using Element = decltype(element);
    using Number = decltype(element.value());
    auto* a = static_cast<Element*>(data);
    if constexpr (std::is_integral_v<Number>) {
      using Signed = std::make_signed_t<Number>;
      bool is_signed = reduction.argument & 1;
      for (size_t i = 0; i < count; i++)
        a[i] = Element::of(is_signed ? static_cast<Number>(static_cast<Signed>(a[i].value()) / Signed(divisor))
                                     : static_cast<Number>(a[i].value() / Number(divisor)));
    }
  });
}

}  // namespace hocket::stand_in
