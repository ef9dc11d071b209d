#pragma once

#include <cstdint>
#include <vector>

#include "hocket/topology/graph.hpp"

namespace hocket::synthesizer {

/// How ranks reach each other through switches alone, over as few links as possible.
class SwitchWays {
 public:
  explicit SwitchWays(const topology::Graph& graph);

  /// Links from rank to rank, -1 where other ranks lie between.
  int32_t length(int32_t src, int32_t dst) const { return length_[src][dst]; }
  /// Up to `most` of the ways from rank to rank, each in travel order.
  std::vector<std::vector<int32_t>> between(int32_t src, int32_t dst, size_t most) const;
  /// A number for how dst lies from src in the hierarchy: ranks that are close to each other are a group, groups that
  /// are close are one of the level above. It counts by how many groups of the highest level dst comes after src, then
  /// by how many within these, down to single ranks, cyclically at each level; none at all is the largest.
  int64_t displacement(int32_t src, int32_t dst) const;

 private:
  struct Level {
    std::vector<int32_t> group;     // of a rank, the first rank of it
    std::vector<int32_t> position;  // of a rank, that of its group of the level below
    int32_t size = 1;               // most groups of the level below in one of this
  };

  void find_levels();

  const topology::Graph& graph_;
  std::vector<std::vector<int32_t>> length_;  // from a rank to a node
  std::vector<Level> levels_;                 // the highest last
};

}  // namespace hocket::synthesizer
