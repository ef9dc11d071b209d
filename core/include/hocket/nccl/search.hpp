#pragma once

#include <cstdint>
#include <vector>

#include "hocket/nccl/system.hpp"

namespace hocket::nccl {

/// How a channel runs through a machine: which GPUs meet the network.
enum Pattern : int32_t { kBalancedTree = 1, kSplitTree, kPlainTree, kRingPattern, kNvlsPattern };

/// The channels of one pattern in a machine (`ncclTopoGraph`).
struct Graph {
  Pattern pattern = kRingPattern;
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
  std::vector<int32_t> gpus{};  ///< indices, channel by channel; of NVLS only the first of a channel counts
  std::vector<int32_t> nets{};  ///< in and out of each channel
};

/// The best channels of a pattern, between `min_channels` and `max_channels` of them (`ncclTopoCompute` of
/// src/graph/search.cc): first relaxes what channels must fulfil until some are found, fastest first; then doubles
/// them; then speeds them up. Deterministic: the search is bounded by steps, not by time.
Graph search(System& system, const Settings& settings, Graph wanted);

}  // namespace hocket::nccl
