#include "hocket/executor/reduce.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace hocket::executor {
namespace {

/// A 16-bit float's value by its definition: `digits` bits of fraction, the rest of 15 the exponent.
double value_of(uint16_t bits, int digits) {
  const int exponent_bits = 15 - digits, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> digits, fraction = bits & ((1 << digits) - 1);
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - digits);
  return sign * std::ldexp((1 << digits) + fraction, exponent - bias - digits);
}

/// The nearest such float, ties to even, by trying the neighbours: the bits of magnitudes are in the order of values.
uint16_t nearest(double value, int digits) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  const auto infinity = static_cast<uint16_t>(((1 << (15 - digits)) - 1) << digits);
  uint16_t low = 0, high = infinity;  // low <= magnitude < high, the latter as if exponents went on
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (value_of(middle, digits) <= magnitude ? low : high) = middle;
  }
  const double below = value_of(low, digits);
  const double step = low == infinity - 1 ? below - value_of(low - 1, digits) : value_of(high, digits) - below;
  const double above = magnitude - below, half = step / 2;
  return static_cast<uint16_t>(sign | (above > half || (above == half && low % 2 == 1) ? high : low));
}

class HalfFloats : public testing::TestWithParam<std::pair<ElementType, int>> {};

TEST_P(HalfFloats, EverySumAndProductIsRoundedOnceToNearestEven) {
  const auto [type, digits] = GetParam();
  std::vector<uint16_t> left(1 << 16), right(1 << 16), out(1 << 16);
  for (uint32_t k = 0; k < left.size(); k++) {
    left[k] = static_cast<uint16_t>(k);
    right[k] = static_cast<uint16_t>(k * 40503u + 12345u);  // an odd factor: every value once
  }
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProd}) {
    reduce(type, op, reinterpret_cast<std::byte*>(left.data()), reinterpret_cast<std::byte*>(right.data()),
           reinterpret_cast<std::byte*>(out.data()), static_cast<int64_t>(out.size()));
    for (size_t k = 0; k < out.size(); k++) {
      const auto a = static_cast<float>(value_of(left[k], digits)), b = static_cast<float>(value_of(right[k], digits));
      const float exact = op == ReduceOp::kSum ? a + b : a * b;
      if (std::isnan(exact)) {
        ASSERT_TRUE(std::isnan(value_of(out[k], digits))) << k;
      } else {
        const uint16_t expected =
            std::isinf(exact) ? nearest(std::copysign(1e300, exact), digits) : nearest(exact, digits);
        ASSERT_EQ(out[k], expected) << left[k] << " and " << right[k];
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, HalfFloats,
                         testing::Values(std::pair{ElementType::kFloat16, 10}, std::pair{ElementType::kBfloat16, 7}));

template <typename T>
T reduced(ElementType type, ReduceOp op, T left, T right) {
  reduce(type, op, reinterpret_cast<std::byte*>(&left), reinterpret_cast<std::byte*>(&right),
         reinterpret_cast<std::byte*>(&left), 1);
  return left;
}

template <typename T>
void expect_wrapping(ElementType type) {
  constexpr T kTop = std::numeric_limits<T>::max(), kBottom = std::numeric_limits<T>::min();
  EXPECT_EQ(reduced<T>(type, ReduceOp::kSum, kTop, 1), kBottom);
  EXPECT_EQ(reduced<T>(type, ReduceOp::kProd, kTop, 2), static_cast<T>(-2));
  EXPECT_EQ(reduced<T>(type, ReduceOp::kProd, kTop, kTop),
            1);  // (2^k - 1)^2 = 1 (mod 2^k), as for signed (2^(k-1) - 1)^2
  EXPECT_EQ(reduced<T>(type, ReduceOp::kMax, kBottom, kTop), kTop);
  EXPECT_EQ(reduced<T>(type, ReduceOp::kMin, kBottom, kTop), kBottom);
}

TEST(Reduce, IntegersWrapAndCompareByTheirSign) {
  expect_wrapping<int8_t>(ElementType::kInt8);
  expect_wrapping<uint8_t>(ElementType::kUint8);
  expect_wrapping<int16_t>(ElementType::kInt16);
  expect_wrapping<int32_t>(ElementType::kInt32);
  expect_wrapping<int64_t>(ElementType::kInt64);
}

TEST(Reduce, FloatsAreThoseOfTheMachine) {
  EXPECT_EQ(reduced<float>(ElementType::kFloat32, ReduceOp::kSum, 0.1f, 0.2f), 0.1f + 0.2f);
  EXPECT_EQ(reduced<double>(ElementType::kFloat64, ReduceOp::kSum, 0.1, 0.2), 0.1 + 0.2);
  EXPECT_EQ(reduced<double>(ElementType::kFloat64, ReduceOp::kProd, 3, -2), -6);
  EXPECT_EQ(reduced<float>(ElementType::kFloat32, ReduceOp::kMin, 3, -2), -2);
  EXPECT_EQ(reduced<float>(ElementType::kFloat32, ReduceOp::kMax, 3, -2), 3);
}

}  // namespace
}  // namespace hocket::executor
