#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hocket/schedule/bounds/path.hpp"
#include "hocket/topology/shortest_tree.hpp"

namespace hocket::schedule {

/// Prices of links are at most 2^kPriceBits.
constexpr int kPriceBits = 30;

/// Cheapest ways of traffic over links that charge a price for every picosecond that they are held.
///
/// Invariant: `weight_` is never more than price * hold in its unit, so every distance is a lower bound of the true
/// one.
class Pricing {
 public:
  Pricing(const topology::Graph& graph, const Traffic& traffic, Holding holding);

  /// How long each link is held for a chunk of the largest size, at least.
  const std::vector<Picoseconds>& holds() const { return holds_; }
  size_t num_sources() const { return source_.size() - 1; }
  /// The pairs of a source: first and last + 1.
  std::pair<size_t, size_t> pairs_of(size_t source) const { return {source_[source], source_[source + 1]}; }

  /// The time that the prices prove (`path_bound`).
  Picoseconds bound(std::span<const int64_t> prices, Picoseconds least_ps);
  /// The prices of the searches to come.
  void set(std::span<const int64_t> prices);
  /// Searches from a source; what its bytes times their distances come to. Throws Infeasible when there is no way.
  __int128 pay(size_t source);
  /// After `pay` of its source: the links on the cheapest way of a pair, the last first.
  void way(size_t pair, std::vector<int32_t>& links) const;

 private:
  const topology::Graph& graph_;
  Traffic traffic_;
  Holding holding_;
  std::vector<Picoseconds> holds_;
  topology::ShortestTree tree_;
  std::vector<int64_t> weight_;  // prices * holds in units of 2^shift_
  int shift_ = 0;
  std::vector<size_t> source_;  // where the pairs of each source begin
};

}  // namespace hocket::schedule
