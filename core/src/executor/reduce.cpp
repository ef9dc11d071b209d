#include "hocket/executor/reduce.hpp"

// Comparisons of floats become vector code only if they may raise no trap; results are the same.
#pragma GCC optimize("no-trapping-math")

#include <type_traits>

#include "half.hpp"

namespace hocket::executor {
namespace {

/// How elements lie in memory (`Stored`) and what they are computed as (`Computed`).
template <typename T>
struct Plain {
  using Stored = T;
  using Computed = T;
  static T load(T value) { return value; }
  static T store(T value) { return value; }
};

struct Float16 {
  using Stored = uint16_t;
  using Computed = float;
  static float load(uint16_t value) { return widen_float16(value); }
  static uint16_t store(float value) { return narrow_float16(value); }
};

struct Bfloat16 {
  using Stored = uint16_t;
  using Computed = float;
  static float load(uint16_t value) { return widen_bfloat16(value); }
  static uint16_t store(float value) { return narrow_bfloat16(value); }
};

/// Integers are added and multiplied as unsigned ones of at least 32 bits: overflow wraps instead of being undefined.
template <typename T>
auto wrapping(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else if constexpr (sizeof(T) < 8) {
    return static_cast<uint32_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

struct Sum {
  template <typename T>
  static T apply(T left, T right) {
    return static_cast<T>(wrapping(left) + wrapping(right));
  }
};

struct Prod {
  template <typename T>
  static T apply(T left, T right) {
    return static_cast<T>(wrapping(left) * wrapping(right));
  }
};

struct Max {
  template <typename T>
  static T apply(T left, T right) {
    return left < right ? right : left;
  }
};

struct Min {
  template <typename T>
  static T apply(T left, T right) {
    return right < left ? right : left;
  }
};

/// In a connection's memory elements lie behind whatever bytes came before.
template <typename T>
// The attribute makes loads and stores unaligned ones, which cost the same on current processors where they happen to
// be aligned.
struct [[gnu::packed]] Anywhere {
  T value;
};

template <typename Element, typename Op>
void loop(const std::byte* left, const std::byte* right, std::byte* out, int64_t count) {
  using Stored = typename Element::Stored;
  using Computed = typename Element::Computed;
  const auto* a = reinterpret_cast<const Anywhere<Stored>*>(left);
  const auto* b = reinterpret_cast<const Anywhere<Stored>*>(right);
  auto* result = reinterpret_cast<Anywhere<Stored>*>(out);
// `out` may be `left` or `right`, at the same position: no iteration reads what another has written.
#pragma GCC ivdep
  for (int64_t k = 0; k < count; k++) {
    result[k].value =
        Element::store(Op::template apply<Computed>(Element::load(a[k].value), Element::load(b[k].value)));
  }
}

template <typename Element>
// Types and operations are template arguments, so that each of the 44 loops is one that the compiler makes vector code
// of.
void dispatch(ReduceOp op, const std::byte* left, const std::byte* right, std::byte* out, int64_t count) {
  switch (op) {
    case ReduceOp::kSum:
      return loop<Element, Sum>(left, right, out, count);
    case ReduceOp::kProd:
      return loop<Element, Prod>(left, right, out, count);
    case ReduceOp::kMax:
      return loop<Element, Max>(left, right, out, count);
    case ReduceOp::kMin:
      return loop<Element, Min>(left, right, out, count);
  }
}

}  // namespace

int64_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kInt8:
    case ElementType::kUint8:
      return 1;
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kUint64:
    case ElementType::kFloat64:
      return 8;
  }
  return 1;
}

void reduce(ElementType type, ReduceOp op, const std::byte* left, const std::byte* right, std::byte* out,
            int64_t count) {
  switch (type) {
    case ElementType::kInt8:
      return dispatch<Plain<int8_t>>(op, left, right, out, count);
    case ElementType::kUint8:
      return dispatch<Plain<uint8_t>>(op, left, right, out, count);
    case ElementType::kInt16:
      return dispatch<Plain<int16_t>>(op, left, right, out, count);
    case ElementType::kInt32:
      return dispatch<Plain<int32_t>>(op, left, right, out, count);
    case ElementType::kInt64:
      return dispatch<Plain<int64_t>>(op, left, right, out, count);
    case ElementType::kUint32:
      return dispatch<Plain<uint32_t>>(op, left, right, out, count);
    case ElementType::kUint64:
      return dispatch<Plain<uint64_t>>(op, left, right, out, count);
    case ElementType::kFloat16:
      return dispatch<Float16>(op, left, right, out, count);
    case ElementType::kBfloat16:
      return dispatch<Bfloat16>(op, left, right, out, count);
    case ElementType::kFloat32:
      return dispatch<Plain<float>>(op, left, right, out, count);
    case ElementType::kFloat64:
      return dispatch<Plain<double>>(op, left, right, out, count);
  }
}

}  // namespace hocket::executor
