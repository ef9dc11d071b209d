#pragma once

#include <bit>

#include "rounds.hpp"

namespace hocket::simulator::astra {

/// Partners at doubling (or halving) distances, with messages of halving (or doubling) sizes; an all_reduce turns round
/// at the largest distance.
/// HalvingDoubling.cc: the partner is the position XOR the offset, and a power of two of ranks is required.
struct Partners {
  LogicalRing ring;
  int32_t offset;
  int64_t bytes;
  bool grows;  // the distance
  bool turns;

  int32_t to() const {
    const bool is_first = offset == 0 || ring.position / offset % 2 == 0;
    return ring.rank_at(ring.step(ring.position, is_first ? offset : -offset));
  }
  int32_t from() const { return to(); }
  void advance() {
    scale();
    // At the turn the largest distance is used once more, now with growing messages.
    if (turns && grows && offset == ring.size) {
      grows = false;
      scale();
    }
  }
  void scale() {
    offset = grows ? offset * 2 : offset / 2;
    bytes = grows ? bytes / 2 : bytes * 2;
  }
};

inline Partners partners_of(const PhasePlan& plan) {
  if (plan.kind == Kind::kAllGather) return {plan.ring, plan.ring.size / 2, plan.bytes, false, false};
  return {plan.ring, 1, plan.bytes / 2, true, plan.kind == Kind::kAllReduce};
}

inline Rounds rounds_of_halving_doubling(const PhasePlan& plan) {
  const int64_t steps = std::bit_width(static_cast<uint32_t>(plan.ring.size)) - 1;
  return {1, plan.kind == Kind::kAllReduce ? 2 * steps : steps, steps - 1, false};
}

}  // namespace hocket::simulator::astra
