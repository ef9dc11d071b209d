#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::executor {

/// Element types in the order of `hocket.runtime.engine.elements`.
enum class ElementType : uint8_t {
  kInt8,
  kUint8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kUint32,
  kUint64,
};

enum class ReduceOp : uint8_t { kSum, kProd, kMax, kMin };

int64_t element_bytes(ElementType type);

/// out[k] = left[k] (op) right[k] for `count` elements; `out` may be one of the operands. They may lie at any
/// address. Integers wrap. The 16-bit
/// floats are computed in float and rounded to nearest even once an operation.
void reduce(ElementType type, ReduceOp op, const std::byte* left, const std::byte* right, std::byte* out,
            int64_t count);

}  // namespace hocket::executor
