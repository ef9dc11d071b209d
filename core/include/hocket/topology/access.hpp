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
  std::vector<Bandwidth> narrowest;  ///< the least bandwidth, also on ways past switches that compute
  std::vector<Picoseconds> nearest;  ///< the least sum of latencies, maybe on another way
};

/// The least and the largest bandwidth (bytes/s) that transfers over each link may have, as the slowest link of their
/// way from where chunks may stay to where they may stay next; 0 for links that are on no such way.
struct TransferRates {
  explicit TransferRates(const Graph& graph);

  std::vector<Bandwidth> narrowest, widest;
};

}  // namespace hocket::topology
