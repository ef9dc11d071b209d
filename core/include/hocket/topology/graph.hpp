#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/time.hpp"

namespace hocket::topology {

struct Link {
  int32_t src;
  int32_t dst;
  Picoseconds latency_ps;
  Bandwidth bandwidth;
};

/// Directed multigraph of ranks 0..num_ranks-1 and switches num_ranks..num_nodes-1. Link ids are positions in `links`.
/// Switches only pass on what they receive, except those `in_network`: these can add chunks and send out copies.
class Graph {
 public:
  /// Throws TopologyError when a link leaves the nodes, is a self-loop, or has latency < 0 or beyond the
  /// horizon, or bandwidth <= 0, or when `in_network` lists other nodes than switches.
  Graph(int32_t num_ranks, int32_t num_nodes, std::vector<Link> links, std::vector<int32_t> in_network = {});

  int32_t num_ranks() const { return num_ranks_; }
  int32_t num_nodes() const { return num_nodes_; }
  bool is_switch(int32_t node) const { return node >= num_ranks_; }
  /// Switches that compute, as given.
  const std::vector<int32_t>& in_network() const { return in_network_; }
  /// Whether chunks can stay at a node: a rank, or a switch that computes.
  bool holds(int32_t node) const { return !is_switch(node) || computes_[node - num_ranks_]; }
  const std::vector<Link>& links() const { return links_; }
  /// Ids of the links that leave / enter a node, ascending.
  std::span<const int32_t> out_links(int32_t node) const { return slice(out_, out_offset_, node); }
  std::span<const int32_t> in_links(int32_t node) const { return slice(in_, in_offset_, node); }
  /// The same graph with every link turned around; link ids keep their meaning.
  Graph reversed() const;

 private:
  static std::span<const int32_t> slice(const std::vector<int32_t>& ids, const std::vector<int32_t>& offset,
                                        int32_t at) {
    return {ids.data() + offset[at], static_cast<size_t>(offset[at + 1] - offset[at])};
  }

  int32_t num_ranks_;
  int32_t num_nodes_;
  std::vector<Link> links_;
  std::vector<int32_t> in_network_;
  std::vector<bool> computes_;  // of each switch
  std::vector<int32_t> out_, out_offset_, in_, in_offset_;
};

}  // namespace hocket::topology
