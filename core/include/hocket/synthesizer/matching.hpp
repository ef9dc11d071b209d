#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/clusters.hpp"
#include "hocket/synthesizer/network.hpp"

namespace hocket::synthesizer {

/// How a free link chooses among the chunks it could carry.
struct Policy {
  bool clusters = true;        ///< a slow link into a cluster carries only chunks that the cluster lacks
  bool rarest_first = true;    ///< chunks that fewest clusters hold come first, then those with fewest holders nearby
  bool on_path = false;        ///< chunks that are on a shortest path from their origin come first
  int sample = 8;              ///< how many candidates are compared; 1 takes a random one
  int patience_percent = 100;  ///< a slow link waits while the fast ones are done in less than this part of its time
};

/// For every link the chunks that are on a shortest path from their origin when they take it: a bit a chunk.
std::vector<uint64_t> on_shortest_path(const Network& network, std::span<const int32_t> origin);

/// Brings every chunk from its origin to all ranks by matching over the time-expanded network: whenever links are
/// free, each takes a chunk that its source holds and its destination neither holds nor is about to receive.
///
/// `shortest` is empty or what on_shortest_path gives. Deterministic for a seed. Throws Infeasible when a rank cannot
/// be reached.
Transfers match(const Network& network, const Clusters& clusters, std::span<const int32_t> origin,
                std::span<const uint64_t> shortest, const Policy& policy, uint64_t seed);

/// The best of `attempts` matchings over a fixed list of policies, stopping at the first that takes at most
/// `target_ps`.
Transfers match_best(const Network& network, std::span<const int32_t> origin, uint64_t seed, int attempts,
                     Picoseconds target_ps);

}  // namespace hocket::synthesizer
