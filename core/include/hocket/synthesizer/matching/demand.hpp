#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/schedule/rank_sets.hpp"
#include "hocket/synthesizer/matching/bit_rows.hpp"
#include "hocket/synthesizer/network.hpp"
#include "hocket/synthesizer/stop.hpp"

namespace hocket::synthesizer {

/// What is asked of an engine: every chunk gets from the rank that holds it to all that want it. Columns by chunk.
struct Demand {
  /// Every rank wants every chunk, and all chunks are of one size: all_gather, broadcast.
  explicit Demand(int32_t num_ranks, std::vector<int32_t> origin);
  /// Throws ScheduleError when the columns differ in length or point at no rank or set.
  Demand(schedule::RankSets sets, std::vector<int32_t> origin, std::vector<int32_t> wanted,
         std::vector<int32_t> through, std::vector<int64_t> bytes, std::vector<int32_t> priority);

  int32_t num_chunks() const { return static_cast<int32_t>(origin.size()); }
  int32_t words() const { return (num_chunks() + 63) / 64; }
  /// [rank] chunks that it wants and does not hold at first.
  BitRows lacking() const;

  schedule::RankSets sets;
  std::vector<int32_t> origin;    ///< rank
  std::vector<int32_t> wanted;    ///< set of ranks
  std::vector<int32_t> through;   ///< set of ranks that may hold the chunk on its way, besides those that want it
  std::vector<int64_t> bytes;     ///< empty: all as large as the network's chunks
  std::vector<int32_t> priority;  ///< chunks of a lower number go first; empty: all alike
};

/// [rank] chunks that it does not want, but should pass on: for every chunk a tree of the links on which it would be
/// everywhere first, if the chunks were sent one after the other, in an order that the seed decides, each as early as
/// the links are free. Each rank that wants it joins the tree by the quickest path from there (Takahashi, Matsuyama:
/// an approximate solution for the Steiner problem in graphs, 1980). Throws Infeasible when a rank cannot be reached,
/// Stopped.
BitRows plan_relays(const Network& network, const Demand& demand, uint64_t seed, const Stop& stop);

/// Whether a chunk may be held by ranks that do not want it: else there are no relays to plan.
bool may_relay(const Demand& demand);

/// Drops the transfers that bring a chunk to a rank which neither wants it nor sends it on to one that does.
void prune(Transfers& transfers, const Network& network, const Demand& demand);

}  // namespace hocket::synthesizer
