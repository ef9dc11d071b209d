#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace hocket::schedule::plan {

/// What the threads of a block do together. Threads of a block meet only at `kSync` and `kBarrier`: of two other steps
/// between two meetings neither is done before the other.
enum class StepKind : uint8_t {
  kSync,     ///< the block's threads meet
  kBarrier,  ///< the threads of all blocks of barrier `object` meet
  kSignal,   ///< at channel end `object`: the other end's counter goes up
  kWait,     ///< at channel end `object`: for one more signal than was waited for
  kRelease,  ///< semaphore `object` goes up
  kAcquire,  ///< semaphore `object` goes down, when it is above zero
  kMove,     ///< the sum of the sources is written to every destination
  kPost,     ///< a move that the proxy of port channel end `object` makes, after the posts of earlier meetings
};

/// Operands `first_source .. first_destination - 1` are read, those up to `last_operand - 1` written, each `count`
/// locations long.
struct Step {
  StepKind kind;
  bool relaxed;  ///< kSignal, kWait: orders, but promises nothing of what was written before
  bool signals;  ///< kPost: a signal follows the data
  bool flushes;  ///< kPost: the block goes on only when the data has been sent
  int32_t object;
  int32_t count;
  int64_t first_source;
  int64_t first_destination;
  int64_t last_operand;
};

/// Locations from `location` on, in odd launches from `location + alternate` on. A packet location is read only once
/// this launch has written it.
struct Operand {
  int64_t location;
  int64_t alternate;
  bool packet;
};

struct Block {
  int32_t rank;
  int64_t first_step;
  int64_t last_step;
};

/// One end of a channel; `partner` -1: the other rank has no such channel.
struct ChannelEnd {
  int32_t partner;
  bool port;
};

/// What a location must hold after a launch: the original chunk of one rank, or of every rank exactly once.
struct Wanted {
  int64_t location;
  int32_t chunk;
  int32_t source;  ///< -1: every rank
};

/// A plan laid out for execution. `initial[location]` is the chunk its rank contributes there, -1: undefined memory.
/// Locations of the caller (`callers`) belong to it before and after each launch: it writes them anew, every one.
struct Program {
  int32_t num_ranks;
  int32_t num_chunks;
  std::vector<Block> blocks;
  std::vector<Step> steps;
  std::vector<Operand> operands;
  std::vector<ChannelEnd> ends;
  std::vector<int32_t> barrier_size;
  std::vector<int32_t> semaphore;  ///< initial values
  std::vector<int32_t> location_rank;
  std::vector<int32_t> initial;
  std::vector<uint8_t> callers;
  std::vector<Wanted> wanted;
};

enum class Outcome : uint8_t { kProved, kDeadlock, kRewritten, kRace, kWrongValue, kUnmatched };

/// Whether the plan is right, and if not the facts of the counterexample; steps are -1 for the caller itself:
/// - kDeadlock: rows of (block, its step, launch, block waited for or -1, that one's step or -1 when it is done);
/// - kRewritten: packet location and the two steps that write it in one launch;
/// - kRace: location, its rank's caller or step, the other, and for each whether it writes;
/// - kWrongValue: location, launch, then rows of (rank, chunk, launch, times) of what it holds; no row: undefined;
/// - kUnmatched: 0 and a channel end, or 1 and a semaphore; what its count is after all launches, and was at first.
/// `weak`, empty or (location, writing step, other step): an order that only relaxed signals make.
struct Execution {
  Outcome outcome = Outcome::kProved;
  std::vector<int64_t> facts;
  std::vector<int64_t> weak;
  int64_t events = 0;
};

/// Executes the plan `launches` times in a row, every rank on its own: it starts the next launch as soon as all its
/// blocks are done. Channel ends, barriers and semaphores must each have one block that gives and one that takes
/// (barriers: as many as their size), so that the outcome does not depend on who runs first.
///
/// Races are judged by order alone, in two clocks: what is over (execution), and what was written and can be seen.
///
/// `poll` is called every millisecond or so; what it throws ends the execution.
Execution execute(const Program& program, int32_t launches, const std::function<void()>& poll = [] {});

}  // namespace hocket::schedule::plan
