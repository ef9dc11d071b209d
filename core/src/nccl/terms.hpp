#pragma once

#include <algorithm>
#include <cstdint>

#include "hocket/nccl/settings.hpp"

namespace hocket::nccl {

inline bool gathers(Function function) { return function == kAllGather || function == kReduceScatter; }

/// Rows and columns of `Constants`.
inline int generation(int32_t sm) { return sm >= 100 ? 3 : sm >= 90 ? 2 : sm >= 80 ? 1 : 0; }
inline int scale(int32_t machines) { return std::min(machines, 3) - 1; }

/// nSteps of ncclTopoTuneModel: a ring goes round twice for an all_reduce.
inline int32_t steps_of(Function function, int32_t ranks) {
  return function == kAllReduce ? 2 * (ranks - 1) : gathers(function) ? ranks - 1 : ranks;
}

}  // namespace hocket::nccl
