#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/topology/graph.hpp"

namespace hocket::topology {

/// Throws TopologyError, naming both ranks, when some rank cannot reach another (over links, switches and ranks).
void require_connected(const Graph& graph);

/// For every part of the ranks (`part[rank]`, -1: in none) the most bytes/s that can enter it from all ranks outside it
/// at once: the maximum flow through switches. Throws TopologyError when `part` has another length than the graph has
/// ranks, or a number outside -1..parts-1.
std::vector<Bandwidth> part_ingress_bandwidth(const Graph& graph, std::span<const int32_t> part, int32_t parts);

/// For every rank the most bytes/s that can enter it from all other ranks at once: the maximum flow through switches,
/// which without switches is the sum of the bandwidths of its in-links.
std::vector<Bandwidth> rank_ingress_bandwidth(const Graph& graph);

/// For every rank the most bytes/s that can leave it: the same on the reversed graph.
std::vector<Bandwidth> rank_egress_bandwidth(const Graph& graph);

/// How ranks pass on what they receive: whole pieces only, or byte by byte like a switch.
enum class Forwarding { kStoreAndForward, kCutThrough };

/// For every source the least time after which the farthest of the target ranks can hold `bytes` that only the source
/// held.
///
/// A lower bound for everything that moves the bytes as one piece, on links that are never busy. What cuts through
/// costs the sum of the latencies plus the largest serialization since a rank held the whole piece; switches always
/// cut through, ranks as `forwarding` says. Exact where no switches are and ranks store and forward. Throws
/// TopologyError when a source or target is not a rank or `bytes` is negative, Infeasible when a target cannot be
/// reached.
std::vector<Picoseconds> eccentricity_ps(const Graph& graph, int64_t bytes, std::span<const int32_t> sources,
                                         std::span<const int32_t> targets, Forwarding forwarding);

/// A cut that bounds an all-gather: `ranks` of them can leave only with `bandwidth` bytes/s in all, so that with b
/// bytes per rank it takes at least b * ranks / bandwidth seconds.
struct Cut {
  int32_t ranks;
  Bandwidth bandwidth;
};

/// The cut with the largest ranks / bandwidth, over all sets of nodes that leave out a rank: no all-gather is faster,
/// and fluid packings of spanning trees reach it (ForestColl, arXiv 2402.06787).
///
/// Dinkelbach's method over exact integer maximum flows, one for each rank that the cut leaves out. Where ranks * links
/// exceeds `max_work`, only max_work / links of them, evenly spread, are tried besides the cuts around single ranks: a
/// bound as valid, but maybe lower. Throws TopologyError when a rank cannot be reached.
Cut all_gather_cut(const Graph& graph, int64_t max_work);

}  // namespace hocket::topology
