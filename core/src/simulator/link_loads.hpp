#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hocket/topology/graph.hpp"
#include "hocket/topology/paths.hpp"

namespace hocket::simulator {

/// What is under way over each link, as the time that the link needs for it: what adaptive routing looks at.
class LinkLoads {
 public:
  explicit LinkLoads(const topology::Graph& graph) : graph_(graph), load_ps_(graph.links().size(), 0) {}

  /// The path of the pair whose busiest link has the least to do, of those the one whose links have the least together,
  /// of those the first.
  int64_t least_loaded(const topology::Paths& paths, int64_t pair) const {
    int64_t best = paths.first(pair);
    for (int64_t path = best + 1; path < paths.end(pair); path++) {
      if (load(paths.path(path)) < load(paths.path(best))) best = path;
    }
    return best;
  }

  void add(std::span<const int32_t> links, int64_t bytes) { change(links, bytes, 1); }
  void remove(std::span<const int32_t> links, int64_t bytes) { change(links, bytes, -1); }

 private:
  std::pair<__int128, __int128> load(std::span<const int32_t> links) const {
    __int128 busiest = 0, all = 0;
    for (const int32_t link : links) {
      busiest = std::max(busiest, load_ps_[link]);
      all += load_ps_[link];
    }
    return {busiest, all};
  }

  void change(std::span<const int32_t> links, int64_t bytes, int64_t sign) {
    for (const int32_t link : links) load_ps_[link] += sign * serialization_ps(bytes, graph_.links()[link].bandwidth);
  }

  const topology::Graph& graph_;
  std::vector<__int128> load_ps_;  // sums of times may be beyond the horizon
};

}  // namespace hocket::simulator
