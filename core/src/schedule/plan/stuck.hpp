#pragma once

#include <cstdint>
#include <vector>

#include "hocket/schedule/plan/plan.hpp"
#include "memory.hpp"

namespace hocket::schedule::plan {

/// How far the blocks of a plan came.
struct Progress {
  std::vector<int64_t> next_step;  ///< of each block
  std::vector<bool> waits_at;      ///< each block: a barrier
  std::vector<int32_t> launch;     ///< of each rank
};

/// The facts of Outcome::kDeadlock: what each block that has not finished waits for, and where that is.
std::vector<int64_t> stuck_blocks(const Program& program, const Progress& progress, const Memory& memory);

}  // namespace hocket::schedule::plan
