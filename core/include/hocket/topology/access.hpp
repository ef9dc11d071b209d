#pragma once

#include <vector>

#include "hocket/time.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::topology {

/// What ways from where chunks may stay (ranks, and switches that compute) to each node are at best, through other
/// switches only: of a node where they may stay, nothing.
struct Access {
  explicit Access(const Graph& graph);

  std::vector<Bandwidth> widest;     ///< the largest bandwidth; 0: there is no way
  std::vector<Picoseconds> nearest;  ///< the least sum of latencies, maybe on another way
};

}  // namespace hocket::topology
