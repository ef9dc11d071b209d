#include "hocket/executor/program.hpp"

#include <string>

#include "hocket/error.hpp"

namespace hocket::executor {

using schedule::StepType;

bool sends(StepType type) {
  return type == StepType::kSend || type == StepType::kReceiveCopySend || type == StepType::kReceiveReduceSend ||
         type == StepType::kReceiveReduceCopySend;
}

bool receives(StepType type) { return type == StepType::kReceive || type >= StepType::kReceiveCopySend; }

bool reduces(StepType type) {
  return type == StepType::kReduce ||
         (type >= StepType::kReceiveReduceCopy && type <= StepType::kReceiveReduceCopySend);
}

bool reads(StepType type) { return type == StepType::kSend || type == StepType::kCopy || reduces(type); }

bool writes(StepType type) {
  return type != StepType::kSend && type != StepType::kNop && type != StepType::kReceiveReduceSend;
}

namespace {

/// Throws for step `position` of block `b`.
[[noreturn]] void refuse(size_t b, int64_t position, const std::string& why) {
  throw ScheduleError("thread block " + std::to_string(b) + ", step " + std::to_string(position) + ": " + why);
}

void check_place(const Program& program, const Place& place, int32_t count, size_t b, int64_t position) {
  if (place.buffer > 2 || place.offset < 0 || place.offset + int64_t{count} > program.chunks[place.buffer]) {
    refuse(b, position, "lies outside of its buffer");
  }
}

}  // namespace

void check(const Program& program) {
  const auto num_blocks = static_cast<int32_t>(program.blocks.size());
  std::vector<uint8_t> sender(program.endpoints.size()), receiver(program.endpoints.size());
  for (size_t b = 0; b < program.blocks.size(); b++) {
    const Block& block = program.blocks[b];
    if ((block.send >= 0 && sender[block.send]++) || (block.receive >= 0 && receiver[block.receive]++)) {
      throw ScheduleError("thread block " + std::to_string(b) + " shares a direction of a connection with another");
    }
    for (int64_t s = block.first_step; s < block.last_step; s++) {
      const Step& step = program.steps[s];
      const int64_t position = s - block.first_step;
      if (step.type > StepType::kReceiveReduceCopySend || step.count < 0) refuse(b, position, "is none");
      if (reads(step.type)) check_place(program, step.source, step.count, b, position);
      if (writes(step.type)) check_place(program, step.destination, step.count, b, position);
      if ((sends(step.type) && block.send < 0) || (receives(step.type) && block.receive < 0)) {
        refuse(b, position, "has no connection");
      }
      if (step.depend_block < 0) continue;
      if (step.depend_block >= num_blocks) refuse(b, position, "waits for a thread block that does not exist");
      const Block& other = program.blocks[step.depend_block];
      if (step.depend_step < 0 || step.depend_step >= other.last_step - other.first_step) {
        refuse(b, position, "waits for a step that does not exist");
      }
    }
  }
}

}  // namespace hocket::executor
