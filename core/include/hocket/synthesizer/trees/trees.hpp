#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hocket/synthesizer/network.hpp"
#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/trees/lanes.hpp"

namespace hocket::synthesizer {

/// No link: at the root of a tree.
inline constexpr int32_t kNoLink = -1;

/// The ways of chunks, a row a chunk. `up`, an in-tree: rank r sends the sum over its subtree on link up[chunk][r], the
/// root sends none. `down`, an out-tree: rank r receives what the root has on link down[chunk][r]. Chunks that are only
/// spread have no in-trees (`up` is empty), those that are only summed up no out-trees.
struct Trees {
  /// No trees yet, with places for out-trees and, if the chunks are to be summed up as well, for in-trees.
  Trees(int32_t num_ranks, std::vector<int32_t> root, bool sums)
      : num_ranks(num_ranks),
        root(std::move(root)),
        up(sums ? this->root.size() * num_ranks : 0, kNoLink),
        down(this->root.size() * num_ranks, kNoLink) {}

  int32_t num_ranks;
  std::vector<int32_t> root;
  std::vector<int32_t> up, down;

  int32_t num_chunks() const { return static_cast<int32_t>(root.size()); }
  std::span<int32_t> row(std::vector<int32_t>& links, int32_t chunk) const {
    return links.empty() ? std::span<int32_t>() : std::span(links).subspan(first(chunk), num_ranks);
  }
  std::span<const int32_t> row(const std::vector<int32_t>& links, int32_t chunk) const {
    return links.empty() ? std::span<const int32_t>() : std::span(links).subspan(first(chunk), num_ranks);
  }

 private:
  size_t first(int32_t chunk) const { return static_cast<size_t>(chunk) * num_ranks; }
};

/// How trees are grown.
struct Growth {
  int passes = 1;           ///< from the second on, each tree is taken out in turn and grown anew
  int depth_percent = 100;  ///< what a hop's time counts, in percent of the load of a link
  int noise_percent = 20;   ///< up to so much of a transfer's time is added to the price of a link at random
};

/// Grows trees from their roots one after the other, each over the links that are least loaded by those before it
/// (Prim's algorithm; the price of a link is its busiest wire's load, and the time on the way from the root). A load is
/// that of all images of the chunks. Returns how long the busiest wire is held. Throws Infeasible when a rank cannot be
/// reached, or when that is beyond the horizon.
Picoseconds pack(const Network& network, const Lanes& lanes, const Growth& growth, uint64_t seed, const Stop& stop,
                 Trees& trees);

}  // namespace hocket::synthesizer
