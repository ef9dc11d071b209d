#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/network.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::synthesizer {

/// Some paths from each rank to each other, as hops between ranks: found once for a topology, for any sizes of blocks.
struct Alternatives {
  int32_t num_ranks = 0;
  Lists hop_links;  ///< physical links of each hop, in travel order
  /// What can keep each hop waiting, by number: links that matter. A link is left out where another is held whenever it
  /// is, so that most hops look at two or four ports.
  Lists hop_ports;
  int32_t num_ports = 0;
  std::vector<Picoseconds> latency;  ///< of each hop
  std::vector<Bandwidth> slowest;    ///< of each hop, of its links
  /// How much slower each hop is than the fastest, in parts of 2^kSlownessBits, and what the fastest would send during
  /// its latency, in bytes: the units in which loads are balanced.
  std::vector<int64_t> slowness, latency_bytes;
  Lists path_hops;                  ///< hops of each path, in travel order
  std::vector<int32_t> first_path;  ///< of pair s * num_ranks + d, whose paths end where the next pair's begin

  static constexpr int kSlownessBits = 10;

  /// The paths of a pair, by number.
  std::pair<int32_t, int32_t> paths(int32_t pair) const { return {first_path[pair], first_path[pair + 1]}; }
};

/// Up to `most` paths for each pair of ranks over switches and the ranks with a 1 in `relays` (empty: all). The first
/// is the cheapest by the links' `weight`; each next one is the cheapest where links cost more for each path of the
/// pair that already takes them. What would cost much more than the first is left out. A pair that nothing joins has
/// none.
Alternatives find_alternatives(const topology::Graph& graph, std::span<const uint8_t> relays,
                               std::span<const int64_t> weight, int32_t most);

}  // namespace hocket::synthesizer
