#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::schedule {

/// Sets of ranks by number, so that chunks can share them: r >= 0 is rank r alone, -1 every rank 0..num_ranks-1, and
/// -2 - k the k-th listed set.
class RankSets {
 public:
  static constexpr int32_t kEveryone = -1;

  /// Set k lists `ranks[offset[k]..offset[k+1])`; empty spans list none. Throws ScheduleError unless the offsets fit
  /// the ranks and every set is ascending, within 0..num_ranks-1 and not empty.
  RankSets(int32_t num_ranks, std::span<const int64_t> offset, std::span<const int32_t> ranks);

  int32_t num_ranks() const { return static_cast<int32_t>(everyone_.size()); }
  /// Throws ScheduleError, calling them `what`, when a number stands for no set.
  void check(std::span<const int32_t> sets, std::string_view what) const;
  /// Members, ascending.
  std::span<const int32_t> of(int32_t set) const {
    if (set >= 0) return {&everyone_[set], 1};
    if (set == kEveryone) return everyone_;
    return std::span(ranks_).subspan(offset_[-2 - set], offset_[-1 - set] - offset_[-2 - set]);
  }

 private:
  std::vector<int32_t> everyone_;
  std::vector<int64_t> offset_{0};
  std::vector<int32_t> ranks_;
};

}  // namespace hocket::schedule
