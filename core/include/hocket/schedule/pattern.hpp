#pragma once

#include <cstdint>
#include <span>

#include "hocket/time.hpp"

namespace hocket::schedule {

/// A view of the transfers of one rank, of which those of all others are images (schedule/algorithms/pattern.py),
/// sorted by step. `sends` and `delivers` say which of its chunks a transfer reads at its source and changes at its
/// destination, each numbered as that end sees it.
struct Pattern {
  std::span<const int32_t> connection;
  std::span<const int32_t> sends;
  std::span<const int32_t> delivers;
  std::span<const bool> reduce;
  std::span<const Picoseconds> step;
  std::span<const bool> own;  ///< as in Transfers

  int64_t size() const { return static_cast<int64_t>(step.size()); }
  bool is_own(int64_t id) const { return !own.empty() && own[id]; }
};

/// Throws ScheduleError unless the columns agree in length, no number is negative, and the steps ascend.
void check(const Pattern& pattern);

}  // namespace hocket::schedule
