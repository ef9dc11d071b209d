#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hocket/topology/graph.hpp"

namespace hocket::topology {

/// Switches with so many links that a search against the links should not look at all that come in.
///
/// Without ranks and hubs the switches of a graph fall into parts, such as the NICs of machines. Where ranks do not
/// forward, a cheapest route enters a part that touches one hub alone only from a rank, never from the hub to go back
/// to it. So the routes of some ranks need of a hub's links those from other hubs, from parts that touch two hubs or
/// more, and from these ranks and the parts next to them.
class Hubs {
 public:
  explicit Hubs(const Graph& graph);

  /// The nodes themselves and the parts that their links lead to, ascending.
  std::vector<int32_t> parts_of(std::span<const int32_t> nodes) const;

  /// Calls `use(link)` for each link into the node that routes which begin in `parts` may take.
  template <class Use>
  void for_each_link(int32_t node, std::span<const int32_t> parts, Use&& use) const {
    if (hub_[node] < 0) {
      for (const int32_t link : graph_.in_links(node)) use(link);
      return;
    }
    const Hub& hub = hubs_[hub_[node]];
    for (const int32_t link : hub.through) use(link);
    for (const int32_t part : parts) {
      const auto first = std::ranges::lower_bound(hub.from, part, {}, &PartLink::first);
      for (auto at = first; at != hub.from.end() && at->first == part; ++at) use(at->second);
    }
  }

 private:
  using PartLink = std::pair<int32_t, int32_t>;
  struct Hub {
    std::vector<int32_t> through;  // links from hubs, and from parts that touch several of them
    std::vector<PartLink> from;    // the others by part
  };

  /// Numbers the parts; of each, the one hub that it touches, or how many.
  std::vector<int32_t> divide();

  const Graph& graph_;
  std::vector<int32_t> hub_;   // of each node, -1: it is none
  std::vector<int32_t> part_;  // of each node, ranks being parts of their own; -1: it is a hub
  std::vector<Hub> hubs_;
};

}  // namespace hocket::topology
