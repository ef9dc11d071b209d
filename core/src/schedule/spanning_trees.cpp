#include "hocket/schedule/spanning_trees.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "hocket/columns.hpp"

namespace hocket::schedule {
namespace {

/// All trees at once, one rank a tree and turn, so that none starves: each step every link carries at most one tree on.
/// The greedy algorithm of MultiTree (Huang et al., ISCA 2021), whose all_reduce runs these trees up and down.
class Grower {
 public:
  Grower(int64_t num_ranks, std::span<const int64_t> src, std::span<const int64_t> dst)
      : num_ranks_(num_ranks), dst_(dst), offset_(num_ranks + 1), out_(src.size()), free_(src.size()) {
    for (const int64_t rank : src) offset_[rank + 1]++;
    std::partial_sum(offset_.begin(), offset_.end(), offset_.begin());
    std::vector<int64_t> next(offset_.begin(), offset_.end() - 1);
    for (size_t link = 0; link < src.size(); link++) out_[next[src[link]]++] = static_cast<int64_t>(link);
    for (int64_t rank = 0; rank < num_ranks; rank++) {
      trees_.push_back({{rank}, std::vector<bool>(num_ranks), 0, 0});
      trees_.back().inside[rank] = true;
    }
  }

  TreeEdges run() {
    std::vector<int64_t> growing(num_ranks_);
    for (int64_t step = 0;; step++) {
      const size_t before = edges_.step.size();
      free_.assign(free_.size(), true);
      for (Tree& tree : trees_) tree.senders = tree.ranks.size();
      growing.resize(num_ranks_);
      std::iota(growing.begin(), growing.end(), 0);
      // A tree that finds no link finds none later in the step either: links only get fewer.
      // Round robin over the trees that still find a link.
      while (!growing.empty()) std::erase_if(growing, [&](int64_t root) { return !grow(root, step); });
      if (edges_.step.size() == before) return std::move(edges_);
    }
  }

 private:
  struct Tree {
    std::vector<int64_t> ranks;  // in the order in which they joined
    std::vector<bool> inside;
    size_t senders;  // how many of `ranks` joined before this step
    size_t done;     // how many of `ranks`, from the first on, have all their neighbours inside
  };

  /// Adds one rank to the tree of `root`; false if no link is left that could.
  bool grow(int64_t root, int64_t step) {
    Tree& tree = trees_[root];
    bool exhausted = true;
    for (size_t at = tree.done; at < tree.senders; at++) {
      for (int64_t k = offset_[tree.ranks[at]]; k < offset_[tree.ranks[at] + 1]; k++) {
        const int64_t link = out_[k], to = dst_[link];
        if (tree.inside[to]) continue;
        exhausted = false;
        if (!free_[link]) continue;
        free_[link] = false;
        tree.inside[to] = true;
        tree.ranks.push_back(to);
        edges_.step.push_back(step);
        edges_.link.push_back(link);
        edges_.tree.push_back(root);
        return true;
      }
      if (exhausted) tree.done = at + 1;
    }
    return false;
  }

  const int64_t num_ranks_;
  const std::span<const int64_t> dst_;
  std::vector<int64_t> offset_, out_;  // links out of rank r: out_[offset_[r]..offset_[r+1]]
  std::vector<bool> free_;             // not used in this step
  std::vector<Tree> trees_;
  TreeEdges edges_;
};

}  // namespace

TreeEdges grow_trees(int64_t num_ranks, std::span<const int64_t> src, std::span<const int64_t> dst) {
  check_size(dst.size(), src.size(), "the ends of links");
  for (const auto& ends : {src, dst}) check_within(ends, 0, num_ranks - 1, "the ends of links");
  check_within(num_ranks, 0, std::numeric_limits<int32_t>::max(), "the ranks");
  return Grower(num_ranks, src, dst).run();
}

}  // namespace hocket::schedule
