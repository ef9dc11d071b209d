#pragma once

#include <cstdint>
#include <vector>

namespace hocket::schedule {

/// MSCCL's step types, in the order of `hocket.schedule.StepType`.
enum class StepType : uint8_t {
  kSend,
  kReceive,
  kCopy,
  kReduce,
  kNop,
  kReceiveCopySend,
  kReceiveReduceCopy,
  kReceiveReduceSend,
  kReceiveReduceCopySend,
};

/// One step; locations are positions in the memory of the whole machine, so aliased buffers share them.
struct Step {
  StepType type;
  int32_t count;
  int64_t source;
  int64_t destination;
  int64_t depends_on;  ///< the step whose end this one waits for; -1: none; `kNeverPublished`: it waits for ever
};

inline constexpr int64_t kNeverPublished = -2;

/// A thread block walks through steps `first_step` .. `last_step - 1`; connections are -1 where it has no such peer.
struct ThreadBlock {
  int32_t rank;
  int32_t send_connection;
  int32_t receive_connection;
  int64_t first_step;
  int64_t last_step;
};

/// What a location must hold in the end: the original chunk of one rank, or of every rank exactly once.
struct Wanted {
  int64_t location;
  int32_t chunk;
  int32_t source;  ///< -1: every rank
};

/// A program laid out for execution. `initial[location]` is the chunk its rank contributes there, -1: undefined memory.
struct FlatProgram {
  int32_t num_ranks;
  int32_t num_connections;
  std::vector<ThreadBlock> blocks;
  std::vector<Step> steps;
  std::vector<int32_t> location_rank;
  std::vector<int32_t> initial;
  std::vector<Wanted> wanted;
};

enum class Outcome : uint8_t { kProved, kDeadlock, kCountMismatch, kUnreceived, kWrongValue, kRace };

enum class Wait : uint8_t { kDependency, kMessage, kSlot };

/// Whether the program is right, and if not the facts of the counterexample, a flat list per outcome:
/// - kDeadlock: rows of (step, Wait, block waited for or -1, step waited for or -1), one per block that is stuck;
/// - kCountMismatch: sending step, its chunks, receiving step, its chunks;
/// - kUnreceived: sending step of the first message that nobody takes;
/// - kWrongValue: location, then rows of (rank, chunk, times) of what it holds; no row: never defined;
/// - kRace: location, two steps, and for each whether it writes.
struct Execution {
  Outcome outcome = Outcome::kProved;
  std::vector<int64_t> facts;
  int64_t messages = 0;
};

/// Executes the program as the interpreter kernel does: every block walks its steps in order; a step of many chunks
/// moves `max_count` of them at a time; a connection holds `fifo_depth` messages. Blocks only ever wait for things
/// that stay true once they are, so the outcome does not depend on who runs first, and a program that completes once
/// completes again for every further slice of the buffer.
///
/// Races are judged by order alone (program order, dependencies, message sent before received), not by the times of
/// this one execution, and never by the FIFO being full.
Execution execute(const FlatProgram& program, int32_t fifo_depth, int32_t max_count);

}  // namespace hocket::schedule
