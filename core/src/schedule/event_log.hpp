#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hocket/schedule/interpreter.hpp"

namespace hocket::schedule {

constexpr bool sends(StepType type) {
  return type == StepType::kSend || type == StepType::kReceiveCopySend || type == StepType::kReceiveReduceSend ||
         type == StepType::kReceiveReduceCopySend;
}
constexpr bool receives(StepType type) { return type == StepType::kReceive || type >= StepType::kReceiveCopySend; }
constexpr bool reads(StepType type) {
  return type != StepType::kReceive && type != StepType::kNop && type != StepType::kReceiveCopySend;
}
constexpr bool reduces(StepType type) { return type == StepType::kReduce || type >= StepType::kReceiveReduceCopy; }
constexpr bool writes(StepType type) {
  return type != StepType::kSend && type != StepType::kNop && type != StepType::kReceiveReduceSend;
}

/// One execution of a piece of a step: chunks `first` .. `first + count - 1` of it.
struct Event {
  int32_t block;
  int32_t first;
  int32_t count;
  int64_t step;
};

/// What happened, in an order in which every event comes after its causes: the event before it in its block (implied)
/// and `causes[first_cause[e]] .. causes[first_cause[e + 1] - 1]`.
/// A log instead of clocks kept on the way: most programs are judged within ranks, for which most causes do not matter.
struct EventLog {
  std::vector<Event> events;
  std::vector<int64_t> causes;
  std::vector<int64_t> first_cause{0};
};

/// Two accesses to one location of which at least one writes and neither is ordered before the other.
struct Race {
  int64_t location;
  int64_t earlier_step;
  int64_t later_step;
  bool earlier_writes;
  bool later_writes;
};

std::optional<Race> find_race(const FlatProgram& program, const EventLog& log);

}  // namespace hocket::schedule
