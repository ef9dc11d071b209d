#pragma once

#include <cstdint>

#include "phase.hpp"

namespace hocket::simulator::astra {

/// How many messages of an exchange there are, and which of them are reduced.
struct Rounds {
  int64_t window;     // messages under way at once
  int64_t messages;   // in all
  int64_t reducing;   // messages in a row that are reduced, after `window` that are not
  bool halves_apart;  // an all_reduce's second half waits for all of the first
};

/// Size of a message of `ring` and `direct`: all_gather passes on what each rank has, the others a share.
inline int64_t message_bytes(const PhasePlan& plan) {
  return plan.kind == Kind::kAllGather ? plan.bytes : plan.bytes / plan.ring.size;
}

}  // namespace hocket::simulator::astra
