#include "hocket/device/tables.hpp"

#include <algorithm>
#include <string>

#include "hocket/error.hpp"

namespace hocket::device {
namespace {

/// A block's progress is a slice and a position in it, in one word.
constexpr int64_t kMaxSteps = 0xffff - 1;
constexpr size_t kNumbers = 4;

constexpr bool is_alike(StepType type, schedule::StepType same) {
  return static_cast<int>(type) == static_cast<int>(same);
}
static_assert(is_alike(StepType::kSend, schedule::StepType::kSend) &&
              is_alike(StepType::kReceive, schedule::StepType::kReceive) &&
              is_alike(StepType::kCopy, schedule::StepType::kCopy) &&
              is_alike(StepType::kReduce, schedule::StepType::kReduce) &&
              is_alike(StepType::kNop, schedule::StepType::kNop) &&
              is_alike(StepType::kReceiveCopySend, schedule::StepType::kReceiveCopySend) &&
              is_alike(StepType::kReceiveReduceCopy, schedule::StepType::kReceiveReduceCopy) &&
              is_alike(StepType::kReceiveReduceSend, schedule::StepType::kReceiveReduceSend) &&
              is_alike(StepType::kReceiveReduceCopySend, schedule::StepType::kReceiveReduceCopySend));

int32_t peer_of(const executor::Program& program, int32_t endpoint) {
  return endpoint < 0 ? -1 : program.endpoints[endpoint].peer;
}

}  // namespace

Tables tables_of(const executor::Program& program, std::span<const int32_t> numbers, int32_t largest_count) {
  if (numbers.size() != kNumbers * program.blocks.size()) {
    throw Error("numbers of " + std::to_string(numbers.size() / kNumbers) + " thread blocks for a program of " +
                std::to_string(program.blocks.size()));
  }
  Tables tables;
  tables.scratch_chunks = program.chunks[2];
  tables.largest_count = std::max(largest_count, 1);
  for (const executor::Block& block : program.blocks) {
    if (block.last_step - block.first_step > kMaxSteps) {
      throw ScheduleError("a thread block of " + std::to_string(block.last_step - block.first_step) +
                          " steps; a device runs at most " + std::to_string(kMaxSteps) + ": use fewer chunks");
    }
    const int32_t* const number = numbers.data() + kNumbers * tables.blocks.size();
    tables.blocks.push_back({peer_of(program, block.send), peer_of(program, block.receive), number[0], number[1],
                             number[2], number[3], static_cast<int32_t>(block.first_step),
                             static_cast<int32_t>(block.last_step)});
  }
  for (const executor::Step& step : program.steps) {
    tables.steps.push_back({static_cast<StepType>(step.type), step.source.buffer, step.destination.buffer, 0,
                            step.source.offset, step.destination.offset, step.count, step.depend_block,
                            step.depend_step});
  }
  // Only what somebody waits for is published: a release costs a GPU some hundred nanoseconds.
  for (const executor::Step& step : program.steps) {
    if (step.depend_block < 0) continue;
    tables.steps[program.blocks[step.depend_block].first_step + step.depend_step].published = 1;
  }
  // A rank that has nothing to do counts the call all the same: it would be taken for one that does not come.
  if (tables.blocks.empty()) tables.blocks.push_back({-1, -1, -1, -1, -1, -1, 0, 0});
  return tables;
}

}  // namespace hocket::device
