#include "hocket/schedule/rank_sets.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "hocket/error.hpp"

namespace hocket::schedule {

RankSets::RankSets(int32_t num_ranks, std::span<const int64_t> offset, std::span<const int32_t> ranks)
    : everyone_(num_ranks), offset_(offset.begin(), offset.end()), ranks_(ranks.begin(), ranks.end()) {
  std::iota(everyone_.begin(), everyone_.end(), 0);
  if (offset_.empty() || offset_.front() != 0 || offset_.back() != static_cast<int64_t>(ranks_.size()) ||
      std::ranges::adjacent_find(offset_, std::greater_equal<>()) != offset_.end()) {
    throw ScheduleError("sets of ranks: the offsets must ascend from 0 to " + std::to_string(ranks_.size()) +
                        ", since no set is empty");
  }
  for (size_t set = 0; set + 1 < offset_.size(); set++) {
    const auto members = std::span(ranks_).subspan(offset_[set], offset_[set + 1] - offset_[set]);
    if (members.front() < 0 || members.back() >= num_ranks ||
        std::ranges::adjacent_find(members, std::greater_equal<>()) != members.end()) {
      throw ScheduleError("set " + std::to_string(set) + " of ranks must be ascending and within 0.." +
                          std::to_string(num_ranks - 1));
    }
  }
}

// Numbers from 0 on are single ranks, negative ones sets: what most chunks need takes no table.
void RankSets::check(std::span<const int32_t> sets, std::string_view what) const {
  for (size_t at = 0; at < sets.size(); at++) {
    if (sets[at] < num_ranks() && sets[at] > -1 - static_cast<int64_t>(offset_.size())) continue;
    throw ScheduleError(std::string(what) + " of chunk " + std::to_string(at) + ": " + std::to_string(sets[at]) +
                        " stands for no set of ranks");
  }
}

}  // namespace hocket::schedule
