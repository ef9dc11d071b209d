#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hocket::schedule {

/// Vector clocks of events over the thread blocks of one rank: entry b of an event's clock is the number of events of
/// block b that are done before the event is. Only accesses of one rank can conflict, so the clocks are kept for one
/// rank at a time and are as short as it has blocks, however many ranks there are.
class Clocks {
 public:
  Clocks(int64_t num_events, int64_t num_blocks) : width_(num_blocks), entries_(num_events * num_blocks) {}

  /// What is done before `cause` is done before `event`; cause -1 is nothing.
  void join(int64_t event, int64_t cause) {
    if (cause < 0) return;
    int32_t* mine = entries_.data() + event * width_;
    const int32_t* other = entries_.data() + cause * width_;
    for (int64_t block = 0; block < width_; block++) mine[block] = std::max(mine[block], other[block]);
  }

  /// `event` itself is the `index`-th of `block`.
  void tick(int64_t event, int32_t block, int32_t index) { entries_[event * width_ + block] = index + 1; }

  /// Whether the `index`-th event of `block` is done before `event` is.
  bool covers(int64_t event, int32_t block, int32_t index) const { return entries_[event * width_ + block] > index; }

 private:
  int64_t width_;
  std::vector<int32_t> entries_;
};

}  // namespace hocket::schedule
