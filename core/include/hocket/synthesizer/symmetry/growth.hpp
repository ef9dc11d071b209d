#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hocket/synthesizer/clusters.hpp"
#include "hocket/synthesizer/random.hpp"
#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/symmetry/translations.hpp"

namespace hocket::synthesizer {

/// How trees grow.
struct Growth {
  /// In which order a generator takes what it could carry.
  enum class Order : uint8_t { kFirst, kRandom, kLast };

  Order order = Order::kFirst;
  int patience_percent = 100;  ///< a slow generator waits while fast ones are done in less than this part of its time
  int32_t reach = 0;           ///< of generators that share all resources only so many are used; 0: all
};

/// What a generator is among others.
struct GeneratorRule {
  int32_t target_orbit;    ///< where it leads
  int32_t level;           ///< its class of speed, and the level of the clusters that it may leave
  bool bridge;             ///< whether it leaves the cluster of strictly faster ones
  int64_t faster_percent;  ///< hundredths of a chunk that faster ones deliver while it carries one
  int32_t distance;  ///< how many come before it among those with its resources: the first, the last, the second, ...
};

/// A level of clusters, by points instead of ranks.
struct PointClusters {
  int32_t number;
  std::vector<int32_t> of;  ///< the cluster of each point
};

/// What does not change from attempt to attempt.
struct GrowthPlan {
  GrowthPlan(const Network& links, const Translations& network, int32_t chunks);

  const Translations& network;
  const int32_t chunks;                       ///< of a rank
  std::vector<std::vector<int32_t>> leaving;  ///< generators of each orbit
  std::vector<std::vector<int32_t>> speeds;   ///< generators of equal travel times, fast ones first
  std::vector<GeneratorRule> rules;           ///< of each generator
  std::vector<PointClusters> levels;          ///< 1, 2, ...: clusters of more than one rank and less than all
};

/// What a variation keeps of another attempt: all that starts before `until`.
/// By time, not by number of transfers, so that whatever started before is complete and nothing hangs in the air.
struct KeptGrowth {
  const TranslatedTransfers* transfers = nullptr;
  Picoseconds until = 0;
};

/// One attempt to bring all trees to all points: whenever a generator is free, it takes a pair of tree and point that
/// it leads on to a point the tree lacks. None when it would take `below` or longer. O(trees * points * generators of
/// an orbit). Throws Infeasible when a point cannot be reached, Stopped when `stop` was asked.
std::optional<TranslatedTransfers> grow(const GrowthPlan& plan, const Growth& growth, Random random, Picoseconds below,
                                        const Stop& stop, const KeptGrowth& kept);

}  // namespace hocket::synthesizer
