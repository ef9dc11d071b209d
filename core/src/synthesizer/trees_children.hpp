#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/trees.hpp"

namespace hocket::synthesizer {

inline int32_t other_end(const Network& network, int32_t link, int32_t rank) {
  return network.src[link] ^ network.dst[link] ^ rank;
}

/// The children of each rank in the trees of all chunks.
class Children {
 public:
  Children(const Network& network, const Trees& trees, const std::vector<int32_t>& links)
      : num_ranks_(trees.num_ranks) {
    if (links.empty()) return;
    offset_.reserve(static_cast<size_t>(trees.num_chunks()) * (num_ranks_ + 1));
    ranks_.resize(links.size());
    std::vector<int32_t> next(num_ranks_ + 1);
    for (int32_t chunk = 0; chunk < trees.num_chunks(); chunk++) {
      const auto row = trees.row(links, chunk);
      std::ranges::fill(next, 0);
      for (int32_t rank = 0; rank < num_ranks_; rank++) {
        if (row[rank] != kNoLink) next[other_end(network, row[rank], rank) + 1]++;
      }
      for (int32_t rank = 0; rank < num_ranks_; rank++) next[rank + 1] += next[rank];
      offset_.insert(offset_.end(), next.begin(), next.end());
      int32_t* ranks = ranks_.data() + static_cast<size_t>(chunk) * num_ranks_;
      for (int32_t rank = 0; rank < num_ranks_; rank++) {
        if (row[rank] != kNoLink) ranks[next[other_end(network, row[rank], rank)]++] = rank;
      }
    }
  }
  std::span<const int32_t> of(int32_t chunk, int32_t rank) const {
    const int32_t* offset = offset_.data() + static_cast<size_t>(chunk) * (num_ranks_ + 1) + rank;
    return std::span(ranks_).subspan(static_cast<size_t>(chunk) * num_ranks_ + offset[0], offset[1] - offset[0]);
  }

 private:
  int32_t num_ranks_;
  std::vector<int32_t> offset_, ranks_;
};

}  // namespace hocket::synthesizer
