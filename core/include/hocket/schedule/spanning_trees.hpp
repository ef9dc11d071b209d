#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::schedule {

/// Edges of trees, in the order in which they were added: tree `tree` gains an edge over `link` in step `step`.
struct TreeEdges {
  std::vector<int64_t> step, link, tree;
};

/// One tree per rank, rooted there, over the directed links from `src` to `dst` (ranks below `num_ranks`), grown
/// together in steps: the trees take turns, and in its turn a tree adds one rank over a link that no tree has used in
/// this step, below the rank that joined it first, if that joined before this step. When none can, the next step begins
/// (MultiTree: Huang et al., ISCA 2021). The trees span what their roots reach.
TreeEdges grow_trees(int64_t num_ranks, std::span<const int64_t> src, std::span<const int64_t> dst);

}  // namespace hocket::schedule
