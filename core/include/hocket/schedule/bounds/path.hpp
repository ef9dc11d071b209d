#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/schedule/bounds/bounds.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::schedule {

/// What must get from rank to rank: `bytes[k]` from src[k] to dst[k], pairs of one source side by side, in chunks of
/// at most `largest_chunk` bytes; `alike` when all chunks have that size.
struct Traffic {
  std::span<const int32_t> src, dst;
  std::span<const int64_t> bytes;
  int64_t largest_chunk;
  bool alike;
};

/// Any prices of links give a time that no schedule beats: a chunk pays on its way at least the price of the cheapest
/// way, where a link charges its price for every picosecond that it is held; and in time T a link earns at most T times
/// its price. So T >= (sum over chunks of the cheapest way) / (sum of the prices). By linear programming duality the
/// best prices give the optimum of the fluid multicommodity flow.
///
/// `prices` are at least 0, at most 2^30, and not all 0. `least_ps` is a time already known to be a bound; where
/// latency follows a link's last transfer, it counts for up to that. Exact integers, rounded down. Throws Infeasible
/// when there is no way.
Picoseconds path_bound(const topology::Graph& graph, const Traffic& traffic, Holding holding,
                       std::span<const int64_t> prices, Picoseconds least_ps);

/// Good prices: those of an equilibrium, in which each pair of ranks spreads what it sends over ways of one cost, where
/// links get dearer exponentially with their load; the sharper, the nearer is the equilibrium to the optimal flow, and
/// are its prices to those that prove it. Found pair by pair, by moving some of each dearer way to the cheapest
/// (gradient projection: Jayakrishnan et al., Transportation Research Record 1443, 1994), sharper in each of `rounds`;
/// the best prices on the way. Ends early where these prices, or `least_ps`, prove what the load is. A round looks at
/// every link for every source about twice.
std::vector<int64_t> path_prices(const topology::Graph& graph, const Traffic& traffic, Holding holding, int rounds,
                                 Picoseconds least_ps);

/// How long each link is held for a chunk of the largest size, at least, on whatever route through switches.
std::vector<Picoseconds> least_holds(const topology::Graph& graph, int64_t largest_chunk, bool alike, Holding holding);

}  // namespace hocket::schedule
