#include "next_links.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

#include "hocket/error.hpp"

namespace hocket::topology {
namespace {

/// A link that was on a cheapest route of the node when it was looked at.
struct Tie {
  int32_t node, link;
  Picoseconds distance;
};

/// Dijkstra from the destination against the links. Costs are positive, so a node is settled after all nodes that
/// follow it on a cheapest route, and link ids decide between equal costs.
class Search {
 public:
  /// With `hubs` it looks at those of their links alone that routes of the wanted nodes may take.
  Search(const Graph& graph, const std::vector<Picoseconds>& cost, Forwarders forwarders, bool all,
         const Hubs* hubs = nullptr)
      : graph_(graph),
        cost_(cost),
        forwarders_(forwarders),
        all_(all),
        hubs_(hubs),
        settled_(graph.num_nodes()),
        missing_(graph.num_nodes()) {
    found_.lowest.assign(graph.num_nodes(), -1);
    found_.distance.assign(graph.num_nodes(), kNever);
  }

  NextLinks& run(int32_t destination, std::span<const int32_t> wanted) {
    forget();
    if (hubs_ != nullptr) parts_ = hubs_->parts_of(wanted);
    if (wanted.empty()) missing_.assign(graph_.num_nodes(), true);
    num_missing_ = wanted.empty() ? graph_.num_nodes() : 0;
    for (const int32_t node : wanted) {
      if (missing_[node]) continue;
      missing_[node] = true;
      wanted_.push_back(node);
      num_missing_++;
    }
    num_missing_ -= missing_[destination];
    missing_[destination] = false;
    touched_.push_back(destination);
    found_.distance[destination] = 0;
    settled_[destination] = true;
    expand(destination);
    settle(false);
    if (forwarders_ == Forwarders::kAny && num_missing_ > 0) {
      // Routes through ranks may enter any part.
      if (hubs_ != nullptr) return without_hubs(destination, wanted);
      for (const int32_t rank : held_back_) expand(rank);
      settle(true);
    }
    if (all_) list_all();
    return found_;
  }

 private:
  NextLinks& without_hubs(int32_t destination, std::span<const int32_t> wanted) {
    const Hubs* const hubs = std::exchange(hubs_, nullptr);
    run(destination, wanted);
    hubs_ = hubs;
    return found_;
  }

  /// What is left of the search before.
  void forget() {
    for (const int32_t node : touched_) {
      found_.lowest[node] = -1;
      found_.distance[node] = kNever;
      settled_[node] = false;
    }
    for (const int32_t node : wanted_) missing_[node] = false;
    touched_.clear();
    wanted_.clear();
    held_back_.clear();
    queue_ = {};
  }

  void expand(int32_t node) {
    if (hubs_ != nullptr) return hubs_->for_each_link(node, parts_, [&](int32_t id) { look_at(node, id); });
    for (const int32_t id : graph_.in_links(node)) look_at(node, id);
  }

  /// At a link into a node that is settled.
  void look_at(int32_t node, int32_t id) {
    const int32_t before = graph_.links()[id].src;
    Picoseconds& distance = found_.distance[before];
    int32_t& lowest = found_.lowest[before];
    const Picoseconds through = add_ps(found_.distance[node], cost_[id]);
    if (settled_[before] || through > distance) return;
    if (forwarders_ == Forwarders::kThroughSwitches && !graph_.is_switch(node) && !graph_.is_switch(before)) return;
    if (all_) ties_.push_back({before, id, through});
    if (distance == kNever) touched_.push_back(before);
    // Ties by the smallest link id, so that routes do not depend on the order in which the queue gives equal costs.
    if (through < distance) queue_.emplace(through, before);
    if (through < distance || lowest < 0 || id < lowest) lowest = id;
    distance = through;
  }

  void settle(bool ranks_forward) {
    while (!queue_.empty() && num_missing_ > 0) {
      const int32_t node = queue_.top().second;
      queue_.pop();
      // A lazy queue: entries that something cheaper replaced come up later and are passed over.
      if (settled_[node]) continue;
      settled_[node] = true;
      num_missing_ -= missing_[node];
      if (graph_.is_switch(node) || ranks_forward) {
        expand(node);
      } else {
        held_back_.push_back(node);
      }
    }
  }

  /// Of the ties those of the distance that a node ended up with.
  void list_all() {
    std::erase_if(ties_, [&](const Tie& tie) { return tie.distance != found_.distance[tie.node]; });
    std::ranges::sort(ties_, {}, [](const Tie& tie) { return std::pair(tie.node, tie.link); });
    found_.offset.assign(graph_.num_nodes() + 1, 0);
    for (const Tie& tie : ties_) {
      found_.offset[tie.node + 1]++;
      found_.all.push_back(tie.link);
    }
    std::partial_sum(found_.offset.begin(), found_.offset.end(), found_.offset.begin());
  }

  using Entry = std::pair<Picoseconds, int32_t>;

  const Graph& graph_;
  const std::vector<Picoseconds>& cost_;
  const Forwarders forwarders_;
  const bool all_;
  const Hubs* hubs_;
  NextLinks found_;
  std::vector<bool> settled_, missing_;
  int64_t num_missing_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::vector<int32_t> held_back_, touched_, wanted_, parts_;
  std::vector<Tie> ties_;
};

}  // namespace

std::vector<Picoseconds> link_costs(const Graph& graph, int64_t reference_bytes) {
  if (reference_bytes < 1) throw TopologyError("routes are compared at a size of 1 byte or more");
  std::vector<Picoseconds> cost;
  cost.reserve(graph.links().size());
  for (const Link& link : graph.links()) {
    // Only compared, so that what is beyond the horizon may as well be the horizon.
    const __int128 serialization =
        std::min<__int128>(exact_serialization_ps(reference_bytes, link.bandwidth), kHorizon);
    cost.push_back(add_ps(link.latency_ps, static_cast<Picoseconds>(serialization)));
  }
  return cost;
}

NextLinks next_links(const Graph& graph, const std::vector<Picoseconds>& cost, int32_t destination,
                     Forwarders forwarders, std::span<const int32_t> wanted, bool all) {
  return std::move(Search(graph, cost, forwarders, all).run(destination, wanted));
}

class NextLinksSearch::Impl {
 public:
  Impl(const Graph& graph, const std::vector<Picoseconds>& cost)
      : hubs_(graph), search(graph, cost, Forwarders::kAny, false, &hubs_) {}

 private:
  Hubs hubs_;

 public:
  Search search;
};

NextLinksSearch::NextLinksSearch(const Graph& graph, const std::vector<Picoseconds>& cost)
    : impl_(std::make_unique<Impl>(graph, cost)) {}

NextLinksSearch::~NextLinksSearch() = default;

const NextLinks& NextLinksSearch::run(int32_t destination, std::span<const int32_t> wanted) {
  return impl_->search.run(destination, wanted);
}

void require_nodes(const Graph& graph, int32_t src, int32_t dst) {
  for (const int32_t node : {src, dst}) {
    if (node >= 0 && node < graph.num_nodes()) continue;
    throw Infeasible("no route from " + std::to_string(src) + " to " + std::to_string(dst) + ": nodes are 0.." +
                     std::to_string(graph.num_nodes() - 1));
  }
}

void require_route(const NextLinks& next, int32_t src, int32_t dst) {
  if (src == dst || next.lowest[src] >= 0) return;
  throw Infeasible("no route from node " + std::to_string(src) + " to node " + std::to_string(dst) +
                   ": add links that connect them");
}

std::vector<size_t> by_destination(std::span<const int32_t> dst) {
  std::vector<size_t> order(dst.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t pair) { return dst[pair]; });
  return order;
}

}  // namespace hocket::topology
