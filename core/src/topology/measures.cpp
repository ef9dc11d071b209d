#include "hocket/topology/measures.hpp"

#include <string>
#include <vector>

#include "hocket/error.hpp"

namespace hocket::topology {
namespace {

/// The lowest rank that rank 0 does not reach, or -1.
int32_t first_unreached(const Graph& graph) {
  std::vector<bool> reached(graph.num_nodes());
  std::vector<int32_t> queue{0};
  reached[0] = true;
  for (size_t at = 0; at < queue.size(); at++) {
    for (const int32_t id : graph.out_links(queue[at])) {
      const int32_t next = graph.links()[id].dst;
      if (!reached[next]) queue.push_back(next);
      reached[next] = true;
    }
  }
  for (int32_t rank = 0; rank < graph.num_ranks(); rank++) {
    if (!reached[rank]) return rank;
  }
  return -1;
}

}  // namespace

void require_connected(const Graph& graph) {
  const auto fail = [](int32_t src, int32_t dst) {
    throw TopologyError("rank " + std::to_string(src) + " cannot reach rank " + std::to_string(dst) +
                        ": add links that connect them");
  };
  // Every rank reaches every other exactly when rank 0 reaches all and all reach rank 0.
  if (const int32_t rank = first_unreached(graph); rank >= 0) fail(0, rank);
  if (const int32_t rank = first_unreached(graph.reversed()); rank >= 0) fail(rank, 0);
}

}  // namespace hocket::topology
