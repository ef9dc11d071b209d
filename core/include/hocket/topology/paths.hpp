#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/topology/graph.hpp"
#include "hocket/topology/routing.hpp"

namespace hocket::topology {

/// What all paths of a pair carry together, in units of shares: equal parts of up to 16 links, and of these again, are
/// exact.
inline constexpr int64_t kWholeShare = int64_t{720'720} * 720'720;

/// Routes of many pairs that may take several paths each: pair k has the paths `offset[k]..offset[k + 1]`, path p the
/// links `links[link_offset[p]..link_offset[p + 1]]` and `share[p]` of kWholeShare. Where every pair has one path that
/// takes all, `offset` and `share` are empty: path k is pair k's.
struct Paths {
  std::vector<int64_t> offset;
  std::vector<int64_t> link_offset{0};
  std::vector<int32_t> links;
  std::vector<int64_t> share;

  int64_t num_pairs() const { return (offset.empty() ? std::ssize(link_offset) : std::ssize(offset)) - 1; }
  int64_t first(int64_t pair) const { return offset.empty() ? pair : offset[pair]; }
  int64_t end(int64_t pair) const { return offset.empty() ? pair + 1 : offset[pair + 1]; }
  std::span<const int32_t> path(int64_t path) const {
    return {links.data() + link_offset[path], static_cast<size_t>(link_offset[path + 1] - link_offset[path])};
  }

  /// How many of their first links all paths of the pair have in common.
  int64_t trunk(int64_t pair) const;
  /// Bytes of the pair's path, of `bytes` in all: rounded so that the parts of all paths add up to them.
  int64_t part(int64_t pair, int64_t path, int64_t bytes) const;

  /// Throws TopologyError unless the columns fit each other, links are below `num_links`, and each pair's shares are
  /// whole.
  void check(int64_t num_links) const;
};

/// What a node does with several links on cheapest routes to a destination. Links of a class at switches count as its
/// best, but for `kShortest` and `kParallel`.
enum class Routing : uint8_t {
  kShortest,   // the lowest
  kParallel,   // the lowest and those of its class beside it, by their bandwidths
  kEcmp,       // one for each flow, by a hash of the seed, the node, the pair and the flow's number
  kSpray,      // all, evenly; parallel ones then by their bandwidths
  kModulo,     // the (destination modulo their number)-th, as DestinationModulo says
  kDimension,  // of those of the lowest class the lowest
};

/// The paths of each pair of nodes (source, destination), cheapest as `Routing` says; `flow[k]` tells flows of equal
/// pairs apart, `link_class` is that of each link. Where a node splits into links, paths of a pair are as few as
/// carry what these links then carry. Throws as Router::routes.
Paths find_paths(const Graph& graph, std::span<const int32_t> src, std::span<const int32_t> dst,
                 std::span<const int64_t> flow, Routing routing, uint64_t seed, std::span<const int32_t> link_class,
                 int64_t reference_bytes = kReferenceBytes);

}  // namespace hocket::topology
