#pragma once

#include <span>
#include <vector>

#include "hocket/device/switches.hpp"
#include "hocket/device/table.hpp"
#include "hocket/executor/program.hpp"

namespace hocket::device {

/// A rank's part of a program as a launch reads it.
struct Tables {
  std::vector<BlockRow> blocks;
  std::vector<StepRow> steps;  ///< of all blocks, one after the other
  int64_t scratch_chunks = 0;
  int32_t largest_count = 1;  ///< chunks of a message of any rank, at most: it decides the slices, which all have alike
};

/// A rank's part of a program whose chunks are added and copied on the way.
struct SwitchTables {
  std::vector<RunRow> runs;
  bool adds;
  bool spreads;
};

/// `numbers`: for each block those of its connections in `BlockRow`, in that order: of the one that leaves, here and at
/// its receiver, then of the one that comes, here and at its sender; -1 where it has none.
/// `largest_count`: chunks of a message of the program, at most, on whatever rank.
/// Throws ScheduleError for a block of more steps than a slice can tell apart.
Tables tables_of(const executor::Program& program, std::span<const int32_t> numbers, int32_t largest_count);

}  // namespace hocket::device
