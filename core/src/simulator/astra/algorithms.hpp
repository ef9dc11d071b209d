#pragma once

#include <memory>

#include "direct.hpp"
#include "exchange.hpp"
#include "halving_doubling.hpp"
#include "phase.hpp"
#include "ring.hpp"

namespace hocket::simulator::astra {

std::unique_ptr<Phase> make_double_binary_tree(const PhasePlan& plan, const Endpoint& endpoint);

/// The exchange that a phase is, over the wire that `owner` makes; null for doubleBinaryTree, which is none.
template <typename Wire, typename Owner>
std::unique_ptr<Phase> make_exchange(const PhasePlan& plan, Owner&& owner) {
  switch (plan.algorithm) {
    case Algorithm::kRing:
      return std::make_unique<Exchange<Neighbours, Wire>>(plan, rounds_of_ring(plan), neighbours_of(plan), owner);
    case Algorithm::kDirect:
      return std::make_unique<Exchange<Others, Wire>>(plan, rounds_of_direct(plan), others_of(plan), owner);
    case Algorithm::kHalvingDoubling:
      return std::make_unique<Exchange<Partners, Wire>>(plan, rounds_of_halving_doubling(plan), partners_of(plan),
                                                        owner);
    default:
      return nullptr;
  }
}

}  // namespace hocket::simulator::astra
