#pragma once

#include <cstdint>
#include <vector>

#include "hocket/synthesizer/network.hpp"

namespace hocket::synthesizer {

/// How close ranks are. Links fall into classes of similar travel time, 0 the fastest; the clusters of level k are the
/// ranks that links of classes below k join (level 0: single ranks; the last level: whole connected parts).
/// What it is for: where fast islands (a node's GPUs) are joined by slow links, a chunk should cross each slow link
/// once and spread inside from there. NCCL knows this as intra- and inter-node, with two levels; here the levels come
/// from the travel times alone, so a rack or a pod is a level too.
struct Clusters {
  explicit Clusters(const Network& network);

  int32_t num_levels() const { return static_cast<int32_t>(cluster.size()); }
  /// Whether a link joins two clusters of the links that are faster than it.
  bool bridge(const Network& network, int32_t link) const {
    const auto& at = cluster[link_class[link]];
    return at[network.src[link]] != at[network.dst[link]];
  }

  std::vector<int32_t> link_class;            ///< of each link
  std::vector<std::vector<int32_t>> cluster;  ///< [level][rank]
  std::vector<int32_t> num_clusters;          ///< [level]
  /// For each link, how many hundredths of a chunk the faster links into its dst deliver while it carries one.
  /// A slow link is worth taking only while the fast ones need as long for what is still lacked.
  std::vector<int64_t> faster_percent;
};

}  // namespace hocket::synthesizer
