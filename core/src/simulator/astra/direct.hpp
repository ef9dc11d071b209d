#pragma once

#include <algorithm>

#include "rounds.hpp"

namespace hocket::simulator::astra {

/// All others in turn, outwards from the rank, with messages of one size.
/// AllToAll.cc of the peer, which is `direct` for every collective: rank r sends to r+1, r+2, .. while it receives from
/// r-1, r-2, ...
struct Others {
  LogicalRing ring;
  int32_t direction;
  int32_t to_position, from_position;
  int64_t bytes;

  int32_t to() const { return ring.rank_at(to_position); }
  int32_t from() const { return ring.rank_at(from_position); }
  void advance() {
    to_position = after(to_position, direction);
    from_position = after(from_position, -direction);
  }
  // Skips the rank itself: the second half of an all_reduce goes round once more.
  int32_t after(int32_t position, int32_t step) const {
    const int32_t next = ring.step(position, step);
    return next == ring.position ? ring.step(next, step) : next;
  }
};

inline Others others_of(const PhasePlan& plan) {
  const LogicalRing& ring = plan.ring;
  return {ring, plan.direction, ring.step(ring.position, plan.direction), ring.step(ring.position, -plan.direction),
          message_bytes(plan)};
}

inline Rounds rounds_of_direct(const PhasePlan& plan) {
  const int64_t others = plan.ring.size - 1;
  const int64_t window = plan.window < 0 ? others : std::min<int64_t>(plan.window, others);
  const bool is_all_reduce = plan.kind == Kind::kAllReduce;
  return {window, is_all_reduce ? 2 * others : others, plan.ring.members ? others * window : window, is_all_reduce};
}

}  // namespace hocket::simulator::astra
