#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/stop.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::synthesizer {

/// Links pass on a chunk in every slot of `held`; of a time, the last `beyond` is no part of a slot.
struct Slots {
  std::span<const Picoseconds> held, beyond;
};

/// The shortest time in which as many slots leave every set of nodes that lacks a rank as chunks have their root in it.
struct Period {
  Picoseconds time = 0;
  std::vector<int32_t> cut;  ///< the ranks of a set for which that takes so long
};

/// Every chunk, from `root[chunk]`, must get to all ranks: no schedule needs less than the period, and spanning trees
/// that are repeated in turn need no more of any link (Edmonds 1973; for all_gather ForestColl, arXiv 2402.06787).
/// Exact maximum flows from the roots to every rank; each minimum cut with too few slots prolongs the period. Throws
/// Infeasible when a rank cannot be reached.
Period packing_period(const topology::Graph& graph, const Slots& slots, std::span<const int32_t> root,
                      const Stop& stop);

/// Out-trees that span all ranks, one for each chunk, as many over each link as it has slots in the period.
/// One tree a chunk, where ForestColl has k trees a root: chunks are whole here, so a share of a tree is a chunk of its
/// own on another tree, and what rounding costs is in the period.
struct Packing {
  Period period;
  std::vector<int64_t> route_offset;  ///< the routes that trees use: CSR of links
  std::vector<int32_t> route_links;
  std::vector<int32_t> down;  ///< [chunk][rank] the route on which the rank receives; kNoLink at the root
};

/// Packs a tree for each chunk into the `packing_period`, in two steps more:
///
/// 1. Switches are removed one after the other, those farthest from the ranks first, by splitting off pairs of links in
///    and out (Mader 1982, Frank 1988), as much of each pair as leaves all maximum flows. `grain`: at most so much of a
///    pair at a time, in turns: trees are the flatter, and the switches' ports the harder to schedule, the less it is.
/// 2. Trees that are alike grow together, edge by edge, as many as leave room for all others (Berczi and Frank 2010).
///
/// Where what enters a switch and what leaves it differ, the first step may fail; the period is prolonged then until it
/// does not. Throws as `packing_period`.
Packing pack_spanning_trees(const topology::Graph& graph, const Slots& slots, std::span<const int32_t> root,
                            int64_t grain, const Stop& stop);

}  // namespace hocket::synthesizer
