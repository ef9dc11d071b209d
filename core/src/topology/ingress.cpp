#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "hocket/error.hpp"
#include "hocket/topology/measures.hpp"

namespace hocket::topology {
namespace {

/// Maximum flows into sets of ranks from all other ranks, through switches.
///
/// Paths are searched from the set outwards, so that a set costs what lies around it up to the nearest other ranks or
/// the tightest cut, and not the graph: of a fabric of n machines all ranks together cost about n, not n^2. A search
/// takes links with room for `least` or more, which falls as it finds none (capacity scaling), and never tries one
/// twice.
class Inflow {
 public:
  explicit Inflow(const Graph& graph)
      : graph_(graph), in_set_(graph.num_nodes()), flow_(graph.links().size()), places_(graph.num_nodes()) {}

  Bandwidth into(std::span<const int32_t> ranks) {
    Bandwidth direct = 0, room = 0, widest = 0;
    entries_.clear();
    for (const int32_t rank : ranks) in_set_[rank] = true;
    for (const int32_t rank : ranks) {
      for (const int32_t id : graph_.in_links(rank)) {
        const Link& link = graph_.links()[id];
        if (in_set_[link.src]) continue;
        if (!graph_.is_switch(link.src)) {
          direct += link.bandwidth;
          continue;
        }
        entries_.push_back(id);
        room += link.bandwidth;
        widest = std::max(widest, link.bandwidth);
      }
    }
    const Bandwidth through = through_switches(room, widest);
    for (const int32_t rank : ranks) in_set_[rank] = false;
    for (const int32_t id : used_) flow_[id] = 0;
    used_.clear();
    return direct + through;
  }

 private:
  /// A link of a path, towards where more can come from: its own source, or (backwards) the destination of flow that is
  /// taken back.
  struct Step {
    int32_t link;
    bool backwards;
  };
  struct Place {
    uint32_t search = 0;  // The last one that came by.
    int32_t next = 0;     // The first of its links that this search has not given up.
    bool closed = false;  // On the path, or without a way on.
  };

  Bandwidth through_switches(Bandwidth room, Bandwidth widest) {
    Bandwidth total = 0;
    auto least = static_cast<Bandwidth>(std::bit_floor(static_cast<uint64_t>(widest)));
    while (least > 0 && total < room) {
      const Bandwidth more = search(least);
      total += more;
      // What was passed over has too little room; where nothing was, the cut around what was seen is full.
      if (more == 0) least = std::min(least / 2, passed_over_);
    }
    return total;
  }

  /// What paths with `least` of room each bring, as far as one search finds them.
  Bandwidth search(Bandwidth least) {
    search_++;
    passed_over_ = 0;
    Bandwidth total = 0;
    for (const int32_t entry : entries_) {
      while (const Bandwidth more = find_path({entry, false}, least)) total += more;
    }
    return total;
  }

  Bandwidth find_path(Step entry, Bandwidth least) {
    if (!is_open(entry, least)) return 0;
    path_.assign(1, entry);
    while (!path_.empty()) {
      const int32_t node = origin(path_.back());
      if (!graph_.is_switch(node)) return send();
      place(node).closed = true;
      if (const std::optional<Step> step = step_from(node, least)) {
        path_.push_back(*step);
      } else {
        path_.pop_back();
      }
    }
    return 0;
  }

  /// The next link by which `node` may get more.
  std::optional<Step> step_from(int32_t node, Bandwidth least) {
    const std::span<const int32_t> in = graph_.in_links(node), out = graph_.out_links(node);
    const auto entering = static_cast<int32_t>(in.size()), all = static_cast<int32_t>(in.size() + out.size());
    for (int32_t& next = place(node).next; next < all; next++) {
      const Step step{next < entering ? in[next] : out[next - entering], next >= entering};
      if (is_open(step, least)) return step;
    }
    return std::nullopt;
  }

  bool is_open(const Step& step, Bandwidth least) {
    const int32_t node = origin(step);
    if (in_set_[node] || (graph_.is_switch(node) && place(node).closed)) return false;
    if (room(step) >= least) return true;
    passed_over_ = std::max(passed_over_, room(step));
    return false;
  }

  Bandwidth send() {
    Bandwidth amount = std::numeric_limits<Bandwidth>::max();
    for (const Step& step : path_) amount = std::min(amount, room(step));
    for (const Step& step : path_) {
      if (flow_[step.link] == 0) used_.push_back(step.link);
      flow_[step.link] += step.backwards ? -amount : amount;
      if (graph_.is_switch(origin(step))) place(origin(step)).closed = false;
    }
    return amount;
  }

  int32_t origin(const Step& step) const {
    const Link& link = graph_.links()[step.link];
    return step.backwards ? link.dst : link.src;
  }
  Bandwidth room(const Step& step) const {
    return step.backwards ? flow_[step.link] : graph_.links()[step.link].bandwidth - flow_[step.link];
  }
  Place& place(int32_t node) {
    Place& found = places_[node];
    if (found.search != search_) found = {search_, 0, false};
    return found;
  }

  const Graph& graph_;
  std::vector<bool> in_set_;
  std::vector<Bandwidth> flow_;   // of a link
  std::vector<Place> places_;     // of a node
  std::vector<int32_t> entries_;  // links into the set
  std::vector<int32_t> used_;     // links that had flow
  std::vector<Step> path_;
  uint32_t search_ = 0;
  Bandwidth passed_over_ = 0;  // the most room of a link that a search did not take
};

}  // namespace

std::vector<Bandwidth> part_ingress_bandwidth(const Graph& graph, std::span<const int32_t> part, int32_t parts) {
  if (static_cast<int64_t>(part.size()) != graph.num_ranks()) {
    throw TopologyError("a part is needed for each of " + std::to_string(graph.num_ranks()) + " ranks, " +
                        std::to_string(part.size()) + " given");
  }
  std::vector<std::vector<int32_t>> members(parts);
  for (int32_t rank = 0; rank < graph.num_ranks(); rank++) {
    if (part[rank] < -1 || part[rank] >= parts) {
      throw TopologyError("part " + std::to_string(part[rank]) + " of rank " + std::to_string(rank) +
                          " is none of the " + std::to_string(parts) + " parts");
    }
    if (part[rank] >= 0) members[part[rank]].push_back(rank);
  }
  std::vector<Bandwidth> result;
  Inflow inflow(graph);
  for (const std::vector<int32_t>& ranks : members) result.push_back(inflow.into(ranks));
  return result;
}

std::vector<Bandwidth> rank_ingress_bandwidth(const Graph& graph) {
  std::vector<int32_t> part(graph.num_ranks());
  std::iota(part.begin(), part.end(), 0);
  return part_ingress_bandwidth(graph, part, graph.num_ranks());
}

std::vector<Bandwidth> rank_egress_bandwidth(const Graph& graph) { return rank_ingress_bandwidth(graph.reversed()); }

}  // namespace hocket::topology
