#pragma once

#include <memory>

#include "phase.hpp"

namespace hocket::simulator::astra {

std::unique_ptr<Phase> make_ring(const PhasePlan& plan, const Endpoint& endpoint);
std::unique_ptr<Phase> make_direct(const PhasePlan& plan, const Endpoint& endpoint);
std::unique_ptr<Phase> make_halving_doubling(const PhasePlan& plan, const Endpoint& endpoint);
std::unique_ptr<Phase> make_double_binary_tree(const PhasePlan& plan, const Endpoint& endpoint);

/// Size of a message of `ring` and `direct`: all_gather passes on what each rank has, the others a share.
inline int64_t message_bytes(const PhasePlan& plan) {
  return plan.kind == Kind::kAllGather ? plan.bytes : plan.bytes / plan.ring.size;
}

}  // namespace hocket::simulator::astra
