#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

namespace hocket::simulator {

/// A message that is ready to be sent. Messages of one instant go in the order of their priorities, of equal ones in
/// that of their collectives' schedules.
struct Launch {
  int32_t urgency;     // priority, negative
  int32_t collective;  // -1: a single message
  int32_t position;
  int32_t message;
  int32_t cause;  // the node that set it off

  auto operator<=>(const Launch&) const = default;
};

/// Sorts what comes in a few ascending runs, as the messages of ranks that keep step do: finds the runs, then merges
/// neighbours until one is left. Natural merge sort, O(n log runs): ranks in step leave a handful of runs, however many
/// messages these hold.
template <typename T>
void sort_runs(std::vector<T>& values) {
  std::vector<typename std::vector<T>::iterator> ends{values.begin()};
  while (ends.back() != values.end()) ends.push_back(std::is_sorted_until(ends.back(), values.end()));
  for (size_t width = 1; width + 1 < ends.size(); width *= 2) {
    for (size_t at = 0; at + width + 1 < ends.size(); at += 2 * width) {
      std::inplace_merge(ends[at], ends[at + width], ends[std::min(at + 2 * width, ends.size() - 1)]);
    }
  }
}

}  // namespace hocket::simulator
