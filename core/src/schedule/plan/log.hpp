#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hocket/schedule/plan/plan.hpp"

namespace hocket::schedule::plan {

/// A step of a block or a proxy, or a start of a launch (`step` -1), at which the caller of `rank` writes its buffers.
/// Events of one chain come one after the other; `chain` -1: it touches no memory and only passes order on.
struct Event {
  int32_t chain;
  int32_t index;
  int32_t rank;
  int32_t launch;
  int64_t step;
};

/// What the effect can see of what its cause can: nothing, all of it, or writes to the memory of the cause's rank.
/// Order and visibility are told apart because a relaxed signal of MSCCL++ gives only the first: it says that something
/// is over, and not that what it wrote can be read (memory order relaxed against release and acquire).
enum class Shows : uint8_t { kNothing, kAll, kOwn };

struct Cause {
  int64_t event;
  Shows shows;
};

/// What happened, in an order in which every event comes after its causes, `causes[first_cause[e]] ..
/// causes[first_cause[e + 1] - 1]`.
struct Log {
  std::vector<Event> events;
  std::vector<Cause> causes;
  std::vector<int64_t> first_cause{0};
  int32_t num_chains = 0;
  std::set<std::pair<int64_t, int64_t>> idle;  ///< (event, operand): it writes packets that say what they said
};

inline int64_t place(const Operand& operand, int32_t launch) {
  return operand.location + (launch % 2 ? operand.alternate : 0);
}

/// Two accesses to one location of which at least one writes and neither comes first; and likewise two of which the
/// first writes and comes first, but by relaxed signals alone.
struct Races {
  std::vector<int64_t> race;  ///< location, step, step, whether each writes
  std::vector<int64_t> weak;  ///< location, step, step
};

/// `poll` is called for every event.
Races find_races(const Program& program, const Log& log, const std::function<void()>& poll);

}  // namespace hocket::schedule::plan
