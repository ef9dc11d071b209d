#pragma once

#include "rounds.hpp"

namespace hocket::simulator::astra {

/// The neighbours, with messages of one size.
struct Neighbours {
  int32_t next, previous;
  int64_t bytes;

  int32_t to() const { return next; }
  int32_t from() const { return previous; }
  void advance() {}
};

inline Neighbours neighbours_of(const PhasePlan& plan) {
  const LogicalRing& ring = plan.ring;
  return {ring.rank_at(ring.step(ring.position, plan.direction)),
          ring.rank_at(ring.step(ring.position, -plan.direction)), message_bytes(plan)};
}

inline Rounds rounds_of_ring(const PhasePlan& plan) {
  // An all_to_all passes every block on to its destination: on average over half the ring, n(n-1)/2 messages of a
  // share.
  const int64_t n = plan.ring.size;
  const int64_t messages = plan.kind == Kind::kAllReduce  ? 2 * (n - 1)
                           : plan.kind == Kind::kAllToAll ? n * (n - 1) / 2
                                                          : n - 1;
  return {1, messages, n - 1, false};
}

}  // namespace hocket::simulator::astra
