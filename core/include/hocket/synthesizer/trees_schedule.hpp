#pragma once

#include <cstdint>
#include <vector>

#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/trees.hpp"

namespace hocket::synthesizer {

/// Which transfers trees ask for: one for each rank of each chunk's in-tree and out-tree (the root's is void).
class TreeTransfers {
 public:
  explicit TreeTransfers(const Trees& trees)
      : num_ranks_(trees.num_ranks),
        parts_(static_cast<int64_t>(!trees.up.empty()) + !trees.down.empty()),
        down_at_(trees.up.empty() ? 0 : num_ranks_),
        size_(static_cast<int64_t>(trees.num_chunks()) * parts_ * num_ranks_) {}

  int64_t size() const { return size_; }
  int64_t up(int32_t chunk, int32_t rank) const { return first(chunk) + rank; }
  int64_t down(int32_t chunk, int32_t rank) const { return first(chunk) + down_at_ + rank; }
  int32_t chunk(int64_t id) const { return static_cast<int32_t>(id / (parts_ * num_ranks_)); }
  int32_t rank(int64_t id) const { return static_cast<int32_t>(id % num_ranks_); }
  /// Whether the transfer is one of an out-tree.
  bool down(int64_t id) const { return id % (parts_ * num_ranks_) >= down_at_; }
  int32_t link(const Trees& trees, int64_t id) const {
    return trees.row(down(id) ? trees.down : trees.up, chunk(id))[rank(id)];
  }

 private:
  int64_t first(int32_t chunk) const { return static_cast<int64_t>(chunk) * parts_ * num_ranks_; }

  int64_t num_ranks_, parts_, down_at_, size_;
};

/// Times of the transfers of trees.
struct TreeTimes {
  std::vector<Picoseconds> finish;  ///< by id
  std::vector<int64_t> order;       ///< ids in the order of their starts
  Picoseconds time = 0;             ///< when the last one is done
};

enum class Direction { kForwards, kBackwards };

/// Due times for `schedule`: chunk c has to be done by c * interval, and each transfer as long before as what follows
/// it takes.
std::vector<Picoseconds> due_times(const Network& network, const Trees& trees, Picoseconds interval);

/// Starts every transfer of the trees as soon as its links are free and what it sends has come, the one that is due
/// first where several could go (`due` by id). Backwards everything runs the other way: time, links and trees.
void schedule(const Network& network, const Trees& trees, Direction direction, const std::vector<Picoseconds>& due,
              const Stop& stop, TreeTimes& times);

/// The best of `passes` schedules, alternately forwards and backwards, each with the finishes of the one before it as
/// due times (forward-backward improvement: Li and Willis, 1992).
TreeTimes best_schedule(const Network& network, const Trees& trees, Picoseconds interval, int passes,
                        Picoseconds target_ps, const Stop& stop);

struct ReducingTransfers {
  Transfers transfers;
  std::vector<uint8_t> reduce;  ///< of each transfer: whether the receiver adds
};

ReducingTransfers transfers(const Network& network, const Trees& trees, const TreeTimes& times);

}  // namespace hocket::synthesizer
