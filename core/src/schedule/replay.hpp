#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "hocket/schedule/transfers.hpp"

namespace hocket::schedule {

/// Walks through the sends and deliveries of one chunk in time order: a transfer sends at its start and is delivered
/// at its finish; deliveries at an instant come before sends at that instant, ties in order of id.
class ChunkReplay {
 public:
  /// Calls `on_send(id)` and `on_delivery(id)` for the transfers `ids` at the times `start` and `finish` (by id).
  template <typename OnSend, typename OnDelivery>
  void run(std::span<const int32_t> ids, std::span<const Picoseconds> start, std::span<const Picoseconds> finish,
           OnSend&& on_send, OnDelivery&& on_delivery) {
    order(ids, start, sends_);
    order(ids, finish, deliveries_);
    size_t delivered = 0;
    for (const int32_t id : sends_) {
      while (finish[deliveries_[delivered]] <= start[id]) on_delivery(deliveries_[delivered++]);
      on_send(id);
    }
    while (delivered < deliveries_.size()) on_delivery(deliveries_[delivered++]);
  }

 private:
  static void order(std::span<const int32_t> ids, std::span<const Picoseconds> time, std::vector<int32_t>& sorted) {
    sorted.assign(ids.begin(), ids.end());
    const auto earlier = [&](int32_t a, int32_t b) { return time[a] != time[b] ? time[a] < time[b] : a < b; };
    // Schedules are sorted by start and mostly by finish as well.
    if (!std::ranges::is_sorted(sorted, earlier)) std::ranges::sort(sorted, earlier);
  }

  std::vector<int32_t> sends_, deliveries_;
};

}  // namespace hocket::schedule
