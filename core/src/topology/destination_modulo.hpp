#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hocket/topology/graph.hpp"
#include "next_links.hpp"

namespace hocket::topology {

/// D-mod-K over fat trees with parallel ports (Zahavi 2010), on any graph: a node that sends up to destination number d
/// takes the (d / P mod W)-th of the W nodes that it may take, where P is the product of the Ws below; the cable to it
/// is the (d / (P W))-th of those side by side, and the cable down is the one that goes up to the same destination.
class DestinationModulo {
 public:
  /// `cost` of each link; destinations that are no ranks are `ports`: switches on one other node. The graph must
  /// outlive it.
  DestinationModulo(const Graph& graph, const std::vector<Picoseconds>& cost, bool ports);

  /// Adds the links of the route that the tables of a destination lead from the source.
  void walk(const NextLinks& next, int32_t src, int32_t dst, std::vector<int32_t>& links);

 private:
  struct Step {
    int32_t node;      // that comes next
    uint64_t choices;  // of how many
  };
  Step step(std::span<const int32_t> links, uint64_t quotient);
  int32_t to(int32_t link) const { return graph_.links()[link].dst; }

  const Graph& graph_;
  std::vector<int32_t> number_;                      // of each node as a destination
  std::vector<int32_t> route_;                       // the nodes of a walk
  std::vector<uint64_t> product_;                    // of the choices before each of these
  std::vector<int32_t> cables_;                      // side by side
  std::vector<std::pair<int32_t, int32_t>> places_;  // how many cables to a node come before one, and the node
};

}  // namespace hocket::topology
