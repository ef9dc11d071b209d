#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "hocket/synthesizer/network.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::synthesizer {

/// Chunks that each go from one rank to another.
struct Packets {
  std::span<const int32_t> src, dst;
  std::span<const int64_t> bytes;

  int64_t size() const { return static_cast<int64_t>(src.size()); }
};

/// Ways through a graph: that of packet p is `links[offset[p]..offset[p+1])`, physical links in travel order.
struct Paths {
  std::vector<int64_t> offset{0};
  std::vector<int32_t> links;

  int64_t size() const { return static_cast<int64_t>(offset.size()) - 1; }
  std::span<const int32_t> operator[](int64_t packet) const {
    return {links.data() + offset[packet], static_cast<size_t>(offset[packet + 1] - offset[packet])};
  }
};

/// A hop between ranks, over one link or through switches: what a transfer takes.
/// The unit of store-and-forward: a rank has all of a chunk before it sends it on, a switch passes it through.
struct Hop {
  std::span<const int32_t> links;
  Picoseconds hold;    ///< how long the transfer keeps all of them
  Picoseconds travel;  ///< how long until the chunk is there
};

/// The first hop of the way `links`: up to the first rank on it. `blocking`: it holds its links for latency +
/// serialization, else for the serialization on the slowest of them.
Hop first_hop(const topology::Graph& graph, std::span<const int32_t> links, int64_t bytes, bool blocking);

/// The distinct routes that hops take, numbered in the order in which they come first.
class RouteNumbers {
 public:
  int32_t number(std::span<const int32_t> links);
  /// Physical links of each.
  const Lists& routes() const { return routes_; }

 private:
  std::map<std::vector<int32_t>, int32_t> numbers_;
  Lists routes_{{0}, {}};
};

}  // namespace hocket::synthesizer
