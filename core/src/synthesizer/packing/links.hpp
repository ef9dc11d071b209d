#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hocket/synthesizer/packing/packing.hpp"
#include "rooted_flows.hpp"

namespace hocket::synthesizer {

/// Arcs of the flows between nodes, one a pair of nodes, and the ways of links that their capacity consists of.
class PackingLinks {
 public:
  using Amount = RootedFlows::Amount;

  PackingLinks(const topology::Graph& graph, const Slots& slots, RootedFlows& flows);

  /// Gives every link its slots in the period.
  void set_period(Picoseconds period);
  /// The shortest period, `least` or longer, in which `wanted` slots leave a set of nodes; kNever if none ever do.
  Picoseconds period_for(const std::vector<bool>& inside, Amount wanted, Picoseconds least) const;
  /// Splits off up to `most` of an arc into a switch and an arc out of it; how much that was.
  Amount split_off(int32_t in, int32_t out, Amount most);
  /// Takes a way of one slot out of the arc's capacity; its number among the routes that are to be written.
  int32_t take(int32_t arc);
  void write_routes(Packing& packing) const;

 private:
  /// A link, or the way `first` and after it `second`.
  struct Way {
    int32_t first, second;
  };
  struct Share {
    int32_t way;
    Amount slots;
  };

  Amount slots_of(int32_t link, Picoseconds period) const {
    return std::max<Picoseconds>(0, period - slots_.beyond[link]) / slots_.held[link];
  }
  std::vector<Share>& shares(int32_t arc);
  /// The last that has slots left.
  Share& last_share(int32_t arc);
  void append(int32_t way, std::vector<int32_t>& links) const;

  const topology::Graph& graph_;
  const Slots slots_;
  RootedFlows& flows_;
  std::map<std::pair<int32_t, int32_t>, int32_t> arc_;  // of (from, to)
  std::vector<Way> ways_;                               // the first are the links
  std::vector<std::vector<Share>> shares_;              // [arc]
  std::vector<int32_t> routes_;                         // ways that are taken
  std::map<int32_t, int32_t> route_of_way_;
};

/// Removes the switches; false when what enters one and what leaves it differ too much for that.
bool remove_switches(const topology::Graph& graph, RootedFlows& flows, PackingLinks& links, int64_t grain);

/// `count` trees with the edges `arcs`, from parents to children.
struct GrownTrees {
  int32_t root;
  int64_t count;
  std::vector<int32_t> arcs;
};

/// Grows trees over the arcs between ranks: `supply[rank]` is the arc that supplies the trees that begin there, kNone
/// where none do. Uses up capacities.
std::vector<GrownTrees> grow_together(RootedFlows& flows, const std::vector<int32_t>& supply);

}  // namespace hocket::synthesizer
