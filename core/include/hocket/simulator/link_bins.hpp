#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hocket/time.hpp"

namespace hocket::simulator {

/// How busy each link is over time, exact and in constant memory: bins that double their width as time goes on.
class LinkBins {
 public:
  LinkBins() = default;
  /// `bins` is even, or 0 to record nothing.
  LinkBins(size_t links, int32_t bins) : bins_(bins), busy_(links * bins, 0) {}

  /// Counts that a link has `busy` of work from `start` to `finish`, at a steady pace. Precondition: `finish` is not
  /// beyond the horizon.
  void add(int32_t link, Picoseconds start, Picoseconds finish, Picoseconds busy) {
    if (bins_ == 0) return;
    while ((finish - 1) / width_ >= bins_) halve();
    const Picoseconds span = finish - start;
    const auto done_by = [&](Picoseconds time) {
      return busy == span ? time - start
                          : static_cast<Picoseconds>(static_cast<__int128>(busy) * (time - start) / span);
    };
    for (Picoseconds at = start; at < finish;) {
      const int64_t bin = at / width_;
      const Picoseconds until = std::min(finish, (bin + 1) * width_);
      busy_[link * bins_ + bin] += done_by(until) - done_by(at);
      at = until;
    }
  }

  Picoseconds width_ps() const { return width_; }
  /// Bins of link 0, then of link 1, ...
  const std::vector<Picoseconds>& busy_ps() const { return busy_; }

 private:
  /// Each two neighbours become one bin; as many empty ones follow.
  void halve() {
    for (size_t first = 0; first < busy_.size(); first += bins_) {
      for (int64_t bin = 0; bin < bins_; bin++) {
        const bool merged = bin < bins_ / 2;
        busy_[first + bin] = merged ? busy_[first + 2 * bin] + busy_[first + 2 * bin + 1] : 0;
      }
    }
    width_ *= 2;
  }

  static constexpr Picoseconds kFirstWidth = 1000;

  int64_t bins_ = 0;
  Picoseconds width_ = kFirstWidth;
  std::vector<Picoseconds> busy_;
};

}  // namespace hocket::simulator
