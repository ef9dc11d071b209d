#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "hocket/schedule/interpreter.hpp"

namespace hocket::executor {

/// Where a connection of this rank ends. Both directions between two ranks on one channel are one endpoint.
struct Endpoint {
  int32_t peer;
  int32_t channel;
  auto operator<=>(const Endpoint&) const = default;
};

/// A piece of one of the rank's buffers (0: input, 1: output, 2: scratch, of rounds also 3: staging), in chunks.
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

/// Chunks that go to a rank, or come from it.
struct Message {
  int32_t peer;
  Place place;
  int32_t count;
};

/// `target` becomes `source`, or, where there is an `other`, the two reduced. `target` may be either, and overlaps
/// neither in another way.
struct LocalStep {
  Place source;
  std::optional<Place> other;
  Place target;
  int32_t count;
};

/// Messages that go at once, then work on the rank's own memory (`hocket.schedule.exchange` says why it never hangs).
struct Round {
  std::vector<Message> sends;
  std::vector<Message> receives;
  std::vector<LocalStep> local_steps;
};

/// A program for transports that only send and receive: what they cannot hold is copied into `staging` chunks.
struct Rounds {
  int64_t staging = 0;
  std::vector<Round> rounds;
};

/// One rank's part of a program, ready to be run.
struct Program {
  std::array<int64_t, 3> chunks;  ///< of the rank's three buffers
  std::vector<Endpoint> endpoints;
  std::vector<Block> blocks;
  std::vector<Step> steps;
  std::optional<Rounds> rounds;  ///< where it was written for such a transport
};

/// Reads what `hocket.runtime.engine.text` writes. Throws FormatError, naming `source`, and as `check`.
Program read_program(std::istream& text, const std::string& source);

/// Throws ScheduleError where a step lies outside of its buffer, has no connection for what it does or waits for a step
/// that does not exist, where two blocks share a direction of a connection, or a round leaves its buffers.
void check(const Program& program);

bool sends(schedule::StepType type);
bool receives(schedule::StepType type);
bool reduces(schedule::StepType type);
/// Whether the step reads (writes) its source (destination) place.
bool reads(schedule::StepType type);
bool writes(schedule::StepType type);

}  // namespace hocket::executor
