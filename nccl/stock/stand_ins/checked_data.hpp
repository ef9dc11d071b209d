// What the player moves and checks: elements of NCCL's types, what each rank puts in, and what must come out.
#pragma once

#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "job.hpp"

namespace hocket::player {

/** A rank's place in a communicator. */
struct Member {
  ncclComm_t comm;
  std::vector<int> members;  // global ranks, by rank in it
  int rank;
};

inline const std::map<std::string, ncclDataType_t> kTypes = {
    {"int8", ncclInt8},       {"uint8", ncclUint8},      {"int32", ncclInt32},     {"uint32", ncclUint32},
    {"int64", ncclInt64},     {"uint64", ncclUint64},    {"float16", ncclFloat16}, {"float32", ncclFloat32},
    {"float64", ncclFloat64}, {"bfloat16", ncclBfloat16}};
inline const std::map<std::string, ncclRedOp_t> kOperations = {
    {"sum", ncclSum}, {"prod", ncclProd}, {"max", ncclMax}, {"min", ncclMin}, {"avg", ncclAvg}};

inline size_t width(const std::string& type) {
  return type.back() == '4' ? 8 : type.back() == '2' ? 4 : type.back() == '6' ? 2 : 1;
}

inline double read_element(const char* data, size_t i, const std::string& type) {
  auto as = [&](auto number) {
    memcpy(&number, data + i * sizeof number, sizeof number);
    return static_cast<double>(number);
  };
  if (type == "int8") return as(int8_t{});
  if (type == "uint8") return as(uint8_t{});
  if (type == "int32") return as(int32_t{});
  if (type == "uint32") return as(uint32_t{});
  if (type == "int64") return as(int64_t{});
  if (type == "uint64") return as(uint64_t{});
  if (type == "float16") return as(_Float16{});
  if (type == "float32") return as(float{});
  if (type == "float64") return as(double{});
  uint32_t wide = static_cast<uint32_t>(as(uint16_t{})) << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

inline void write_element(char* data, size_t i, const std::string& type, int value) {
  auto as = [&](auto number) { memcpy(data + i * sizeof number, &number, sizeof number); };
  if (type == "int8" || type == "uint8") return as(static_cast<int8_t>(value));
  if (type == "int32" || type == "uint32") return as(static_cast<int32_t>(value));
  if (type == "int64" || type == "uint64") return as(static_cast<int64_t>(value));
  if (type == "float16") return as(static_cast<_Float16>(value));
  if (type == "float32") return as(static_cast<float>(value));
  if (type == "float64") return as(static_cast<double>(value));
  auto single = static_cast<float>(value);
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  as(static_cast<uint16_t>(bits >> 16));
}

/** What rank `rank` puts at place `i`: small, so that sums and products of all ranks are exact in every type. */
inline int element(int rank, size_t i, bool product) {
  auto mixed = static_cast<unsigned>(i * 2654435761U + static_cast<unsigned>(rank) * 40503U + 7U);
  return product ? 1 + static_cast<int>((mixed >> 7) % 16 == 0) : static_cast<int>((mixed >> 9) % 5);
}

/** What an integer type holds of a larger number: sums of many ranks go round in 8 bits. */
inline double wrapped(double value, const std::string& type) {
  double range = std::ldexp(1.0, static_cast<int>(8 * width(type)));
  value = std::fmod(value, range);
  return type[0] == 'i' && value >= range / 2 ? value - range : value;
}

/** What a member of a communicator must hold at place `i` of its output, in parts of `part` elements. */
inline double expected(const Call& call, const Member& member, size_t i, size_t part) {
  bool product = call.operation == "prod";
  const auto& members = member.members;
  auto n = static_cast<int>(members.size());
  if (call.kind == "all_gather") return element(members[i / part], i % part, product);
  if (call.kind == "all_to_all") return element(members[i / part], member.rank * part + i % part, product);
  if (call.kind == "broadcast") return element(members[call.root], i, product);
  if (call.kind == "sendrecv") return element(members[(member.rank + n - 1) % n], i, product);
  if (call.kind == "reduce_scatter") i += member.rank * part;
  double value = element(members[0], i, product);
  for (int r = 1; r < n; r++) {
    double other = element(members[r], i, product);
    value = call.operation == "prod"  ? value * other
            : call.operation == "max" ? std::max(value, other)
            : call.operation == "min" ? std::min(value, other)
                                      : value + other;
  }
  bool whole = call.type.find("int") != std::string::npos;
  if (whole) value = wrapped(value, call.type);
  if (call.operation != "avg") return value;
  return whole ? std::trunc(value / n) : value / n;
}

/** How far an element may be off, relative to what is expected: averages of floats are rounded. */
inline double tolerance(const Call& call) {
  if (call.operation != "avg") return 0;
  return call.type == "bfloat16" ? 0.02 : call.type == "float16" ? 4e-3 : 1e-5;
}

}  // namespace hocket::player
