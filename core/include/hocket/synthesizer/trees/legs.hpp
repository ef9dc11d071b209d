#pragma once

#include <cstdint>
#include <vector>

#include "hocket/synthesizer/trees/trees.hpp"

namespace hocket::synthesizer {

/// The transfer over the link of one rank in one tree. In an in-tree it goes to the parent when all from the children
/// have come, in an out-tree it comes from the parent. That of a root stands for no transfer. 16 bytes, so that a leg
/// is in one line of the cache.
struct alignas(16) Leg {
  int32_t link;    ///< kNoLink at a root
  int32_t parent;  ///< leg; itself at a root
  int32_t first_child;
  int32_t num_children;  ///< legs from `first_child` on
};

/// The legs of all trees: first the in-trees, if there are any, then the out-trees, chunk by chunk, each tree from its
/// root on with parents before their children and siblings side by side.
class Legs {
 public:
  /// Throws ScheduleError when there are 2^31 legs or more.
  Legs(const Network& network, const Trees& trees);

  const Leg& operator[](int32_t leg) const { return legs_[leg]; }
  int32_t size() const { return static_cast<int32_t>(legs_.size()); }
  int32_t num_ranks() const { return num_ranks_; }
  int32_t num_chunks() const { return num_chunks_; }
  /// Number of trees of a chunk: 2 when it is summed up and spread.
  int32_t families() const { return size() / per_family(); }
  /// Legs of all in-trees, and of all out-trees.
  int32_t per_family() const { return num_chunks_ * num_ranks_; }
  bool is_root(int32_t leg) const { return legs_[leg].link == kNoLink; }
  int32_t chunk(int32_t leg) const { return leg % per_family() / num_ranks_; }
  /// Whether the receiver adds what comes.
  bool sums(int32_t leg) const { return leg < (families() - 1) * per_family(); }

 private:
  void append(const Network& network, std::span<const int32_t> link_of, int32_t root);

  int32_t num_ranks_, num_chunks_;
  std::vector<Leg> legs_;
};

/// For every leg a number: of those that wait for a link, the leg with the least goes first.
using Urgency = std::vector<int32_t>;

/// What to begin with: chunk c has to be done by c * `interval`, and each of its legs as long before as what follows it
/// takes.
Urgency due_times(const Lanes& lanes, const Legs& legs, Picoseconds interval);

}  // namespace hocket::synthesizer
