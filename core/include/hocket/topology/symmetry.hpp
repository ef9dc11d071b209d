#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/topology/graph.hpp"

namespace hocket::topology {

/// The link that each link becomes when node v becomes node `images[v]` (a permutation), those between the same two
/// nodes in order of their ids; empty when some link and its image would differ in latency, bandwidth or `link_class`,
/// or one of them is missing.
std::vector<int32_t> link_images(const Graph& graph, std::span<const int32_t> images,
                                 std::span<const int32_t> link_class);

/// The least of what the `generators` (permutations of 0..size-1, one after the other) make of each number.
std::vector<int32_t> least_images(int64_t size, std::span<const int32_t> generators);

}  // namespace hocket::topology
