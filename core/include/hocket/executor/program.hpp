#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <vector>

#include "hocket/schedule/interpreter.hpp"

namespace hocket::executor {

/// Where a connection of this rank ends. Both directions between two ranks on one channel are one endpoint.
struct Endpoint {
  int32_t peer;
  int32_t channel;
  auto operator<=>(const Endpoint&) const = default;
};

/// A piece of one of the rank's buffers (0: input, 1: output, 2: scratch), in chunks.
struct Place {
  uint8_t buffer;
  int32_t offset;
};

struct Step {
  schedule::StepType type;
  Place source;
  Place destination;
  int32_t count;
  int32_t depend_block;  ///< -1: no wait
  int32_t depend_step;
};

/// Walks through steps `first_step` .. `last_step - 1`; `send` and `receive` are endpoints, -1 where it has no such
/// peer.
struct Block {
  int32_t send;
  int32_t receive;
  int64_t first_step;
  int64_t last_step;
};

/// One rank's part of a program, ready to be run.
struct Program {
  std::array<int64_t, 3> chunks;  ///< of the rank's three buffers
  std::vector<Endpoint> endpoints;
  std::vector<Block> blocks;
  std::vector<Step> steps;
};

/// Throws ScheduleError where a step lies outside of its buffer, has no connection for what it does or waits for a step
/// that does not exist, or where two blocks share a direction of a connection.
void check(const Program& program);

bool sends(schedule::StepType type);
bool receives(schedule::StepType type);
bool reduces(schedule::StepType type);
/// Whether the step reads (writes) its source (destination) place.
bool reads(schedule::StepType type);
bool writes(schedule::StepType type);

}  // namespace hocket::executor
