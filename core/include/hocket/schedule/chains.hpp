#pragma once

#include <span>

#include "hocket/schedule/dependencies.hpp"
#include "hocket/schedule/transfers.hpp"

namespace hocket::schedule {

/// Transfers that wait for each other, one after the other, whatever links they share.
class Chains {
 public:
  explicit Chains(const Transfers& transfers) : gates_(find_gates(transfers)) {}

  /// When the last is done, where each begins as soon as those are that it waits for, and takes `step` (one for each
  /// transfer); 0 without transfers. Throws ScheduleError for another number of steps. Linear in the transfers.
  double longest(std::span<const double> step) const;

 private:
  Gates gates_;
};

}  // namespace hocket::schedule
