#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "hocket/nccl/system.hpp"

namespace hocket::nccl {

/// How a channel runs through a machine: which GPUs meet the network.
enum Pattern : int32_t { kBalancedTree = 1, kSplitTree, kPlainTree, kRingPattern, kNvlsPattern, kCollNetPattern };

/// Whose channels a graph has, in the order of graph files.
enum GraphId : int32_t { kRingGraph, kTreeGraph, kCollNetChainGraph, kNvlsGraph, kCollNetDirectGraph, kGraphs };

/// The channels of one pattern in a machine (`ncclTopoGraph`).
struct Graph {
  Pattern pattern = kRingPattern;
  bool collnet = false;   ///< only NICs that reduce will do
  int32_t cross_nic = 0;  ///< whether a channel may come in by one NIC and leave by another; 2: channels in pairs
  int32_t min_channels = 1;
  int32_t max_channels = kMostChannels;
  int32_t channels = 0;
  float intra = 0;  ///< GB/s of a channel inside the machine
  float inter = 0;  ///< and to other machines
  float latency = 0;
  int32_t type_intra = kLoc;  ///< farthest PathType used
  int32_t type_inter = kLoc;
  bool same_channels = false;
  int32_t hops = 0;
  std::vector<int32_t>
      gpus{};  ///< indices, channel by channel; of NVLS and CollNetDirect the first of a channel heads it
  std::vector<int32_t> nets{};  ///< in and out of each channel
};

/// The channels that a user gives in place of those that NCCL would find (`NCCL_GRAPH_FILE`): their `gpus` and `nets`
/// count in the machine's order. NCCL searches with their path types where there is none.
struct Given {
  std::vector<std::pair<GraphId, Graph>> graphs;
};

/// The best channels of a pattern, between `min_channels` and `max_channels` of them (`ncclTopoCompute` of
/// src/graph/search.cc): first relaxes what channels must fulfil until some are found, fastest first; then doubles
/// them; then speeds them up. Deterministic: the search is bounded by steps, not by time.
/// `given`, if any, are taken instead, or begun with.
Graph search(System& system, const Settings& settings, Graph wanted, const Graph* given = nullptr);

}  // namespace hocket::nccl
