#include "hocket/topology/paths.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "destination_modulo.hpp"
#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "hocket/splitmix.hpp"
#include "next_links.hpp"

namespace hocket::topology {
namespace {

/// What links cost when those of a class count as its best: a switch does not know what is left of a link, so one that
/// is degraded, or slower than its like, is one more that it may take. Other classes stay apart: nothing goes over a
/// slow network because that has fewer hops. Links between ranks cost what they cost, for libraries see what they have
/// (two bricks of NVLink or one); unless dimensions say the order.
std::vector<Picoseconds> nominal_costs(const Graph& graph, std::vector<Picoseconds> cost, Routing routing,
                                       std::span<const int32_t> link_class) {
  std::vector<Picoseconds> best(cost.empty() ? 0 : std::ranges::max(link_class) + 1, kNever);
  const auto counts = [&](size_t id) {
    const Link& link = graph.links()[id];
    return routing == Routing::kDimension || graph.is_switch(link.src) || graph.is_switch(link.dst);
  };
  for (size_t id = 0; id < cost.size(); id++) {
    if (counts(id)) best[link_class[id]] = std::min(best[link_class[id]], cost[id]);
  }
  for (size_t id = 0; id < cost.size(); id++) {
    if (counts(id)) cost[id] = best[link_class[id]];
  }
  return cost;
}

/// Finds the paths of one pair after the other over the tables of its destination.
class Walker {
 public:
  /// `modulo`: null but for routing by destinations.
  Walker(const Graph& graph, Routing routing, uint64_t seed, std::span<const int32_t> link_class,
         DestinationModulo* modulo)
      : graph_(graph),
        routing_(routing),
        seed_(seed),
        link_class_(link_class),
        modulo_(modulo),
        amount_(graph.num_nodes(), 0),
        carried_(graph.links().size(), 0) {}

  struct Found {
    std::vector<int64_t> length;  // of each path
    std::vector<int32_t> links;
    std::vector<int64_t> share;
  };

  Found paths(const NextLinks& next, int32_t src, int32_t dst, int64_t flow) {
    Found found;
    if (routing_ == Routing::kSpray || routing_ == Routing::kParallel) {
      spread(next, src, dst);
      peel(src, dst, found);
      return found;
    }
    if (modulo_ != nullptr) {
      modulo_->walk(next, src, dst, found.links);
    } else {
      for (int32_t node = src; node != dst; node = graph_.links()[found.links.back()].dst) {
        found.links.push_back(chosen(next.of(node), node, src, dst, flow));
      }
    }
    found.length = {std::ssize(found.links)};
    found.share = {kWholeShare};
    return found;
  }

 private:
  int32_t chosen(std::span<const int32_t> links, int32_t node, int32_t src, int32_t dst, int64_t flow) const {
    switch (routing_) {
      case Routing::kEcmp: {
        uint64_t hash = seed_;
        for (const int64_t value : {int64_t{node}, int64_t{src}, int64_t{dst}, flow}) {
          hash = splitmix64(hash + static_cast<uint64_t>(value));
        }
        return links[hash % links.size()];
      }
      case Routing::kDimension:
        return *std::ranges::min_element(links, {}, [&](int32_t id) { return link_class_[id]; });
      default:
        return links.front();
    }
  }

  /// What each link carries when every node splits what it gets: from the farthest node on, as all that comes to a node
  /// comes from farther ones.
  void spread(const NextLinks& next, int32_t src, int32_t dst) {
    std::priority_queue<std::pair<Picoseconds, int32_t>> farthest;
    amount_[src] = kWholeShare;
    farthest.emplace(next.distance[src], src);
    while (!farthest.empty()) {
      const int32_t node = farthest.top().second;
      farthest.pop();
      const int64_t amount = std::exchange(amount_[node], 0);
      if (node == dst) continue;
      split(next, node, amount);
      for (const int32_t id : split_) {
        const int32_t after = graph_.links()[id].dst;
        if (carried_[id] == 0) continue;
        if (amount_[after] == 0) farthest.emplace(next.distance[after], after);
        amount_[after] += carried_[id];
      }
    }
  }

  /// Divides what a node sends evenly among its links, and what parallel ones then have by their bandwidths.
  void split(const NextLinks& next, int32_t node, int64_t amount) {
    const auto to = [&](int32_t id) { return graph_.links()[id].dst; };
    split_.clear();
    if (routing_ == Routing::kSpray) {
      split_.assign(next.of(node).begin(), next.of(node).end());
      std::ranges::stable_sort(split_, {}, to);
    } else {
      const int32_t lowest = next.lowest[node];
      for (const int32_t id : graph_.out_links(node)) {
        if (to(id) == to(lowest) && link_class_[id] == link_class_[lowest]) split_.push_back(id);
      }
    }
    const int64_t links = std::ssize(split_);
    for (int64_t begin = 0, end = 0; begin < links; begin = end) {
      __int128 bandwidth = 0, before = 0;
      for (; end < links && to(split_[end]) == to(split_[begin]); end++) bandwidth += bandwidth_of(split_[end]);
      // Differences of rounded sums: whatever is rounded, parts add up to all.
      const int64_t together = amount * end / links - amount * begin / links;
      for (int64_t at = begin; at < end; at++) {
        const __int128 up_to = before + bandwidth_of(split_[at]);
        carried_[split_[at]] =
            static_cast<int64_t>(together * up_to / bandwidth) - static_cast<int64_t>(together * before / bandwidth);
        before = up_to;
      }
    }
  }

  Bandwidth bandwidth_of(int32_t id) const { return graph_.links()[id].bandwidth; }

  /// Takes path after path, over the lowest links that still carry something, until nothing is left: each path empties
  /// a link, so they are no more than links.
  void peel(int32_t src, int32_t dst, Found& found) {
    for (int64_t left = kWholeShare; left > 0;) {
      const size_t begin = found.links.size();
      int64_t share = left;
      for (int32_t node = src; node != dst; node = graph_.links()[found.links.back()].dst) {
        const std::span<const int32_t> links = graph_.out_links(node);
        found.links.push_back(*std::ranges::find_if(links, [&](int32_t id) { return carried_[id] > 0; }));
        share = std::min(share, carried_[found.links.back()]);
      }
      for (size_t at = begin; at < found.links.size(); at++) carried_[found.links[at]] -= share;
      found.length.push_back(std::ssize(found.links) - static_cast<int64_t>(begin));
      found.share.push_back(share);
      left -= share;
    }
  }

  const Graph& graph_;
  const Routing routing_;
  const uint64_t seed_;
  const std::span<const int32_t> link_class_;
  DestinationModulo* const modulo_;
  std::vector<int64_t> amount_;   // of each node: what comes to it and has not been split
  std::vector<int64_t> carried_;  // of each link: what no path has taken
  std::vector<int32_t> split_;
};

/// The paths of all pairs behind each other.
Paths joined(const std::vector<Walker::Found>& found) {
  Paths paths;
  const bool several = std::ranges::any_of(found, [](const Walker::Found& each) { return each.length.size() > 1; });
  if (several) paths.offset.push_back(0);
  for (const Walker::Found& each : found) {
    for (const int64_t length : each.length) paths.link_offset.push_back(paths.link_offset.back() + length);
    paths.links.insert(paths.links.end(), each.links.begin(), each.links.end());
    if (!several) continue;
    paths.share.insert(paths.share.end(), each.share.begin(), each.share.end());
    paths.offset.push_back(paths.offset.back() + std::ssize(each.length));
  }
  return paths;
}

}  // namespace

int64_t Paths::trunk(int64_t pair) const {
  const std::span<const int32_t> one = path(first(pair));
  int64_t common = std::ssize(one);
  for (int64_t other = first(pair) + 1; other < end(pair); other++) {
    const auto ends = std::ranges::mismatch(one, path(other));
    common = std::min<int64_t>(common, ends.in1 - one.begin());
  }
  return common;
}

int64_t Paths::part(int64_t pair, int64_t path, int64_t bytes) const {
  if (offset.empty()) return bytes;
  const int64_t before = std::accumulate(share.begin() + first(pair), share.begin() + path, int64_t{0});
  const auto up_to = [&](int64_t shares) {
    return static_cast<int64_t>(static_cast<__int128>(bytes) * shares / kWholeShare);
  };
  return up_to(before + share[path]) - up_to(before);
}

void Paths::check(int64_t num_links) const {
  if (link_offset.empty() || link_offset.front() != 0 || !std::ranges::is_sorted(link_offset) ||
      link_offset.back() != std::ssize(links)) {
    throw TopologyError("the paths' offsets do not fit their links");
  }
  check_ids(links, num_links, "the links of paths");
  const int64_t num_paths = std::ssize(link_offset) - 1;
  if (std::ssize(share) != (offset.empty() ? 0 : num_paths)) throw TopologyError("expected a share a path");
  if (offset.empty()) return;
  if (offset.front() != 0 || offset.back() != num_paths) throw TopologyError("the pairs' offsets do not fit the paths");
  for (int64_t pair = 0; pair < num_pairs(); pair++) {
    if (offset[pair] >= offset[pair + 1]) throw TopologyError("a pair has no path");
    int64_t left = kWholeShare;
    for (int64_t path = first(pair); path < end(pair); path++) {
      check_within(share[path], 0, left, "the shares of paths");
      left -= share[path];
    }
    if (left != 0) throw TopologyError("the shares of a pair are not whole");
  }
}

Paths find_paths(const Graph& graph, std::span<const int32_t> src, std::span<const int32_t> dst,
                 std::span<const int64_t> flow, Routing routing, uint64_t seed, std::span<const int32_t> link_class,
                 int64_t reference_bytes) {
  check_size(dst.size(), src.size(), "the destinations");
  check_size(flow.size(), src.size(), "the flows");
  check_size(link_class.size(), graph.links().size(), "the classes of links");
  for (size_t pair = 0; pair < src.size(); pair++) require_nodes(graph, src[pair], dst[pair]);
  // What takes one route, or the links beside it, takes the cheapest; the others choose among links of a kind.
  const bool one_route = routing == Routing::kShortest || routing == Routing::kParallel;
  std::vector<Picoseconds> cost = link_costs(graph, reference_bytes);
  if (!one_route) cost = nominal_costs(graph, std::move(cost), routing, link_class);
  const std::vector<size_t> order = by_destination(dst);
  std::vector<Walker::Found> found(src.size());
  std::optional<DestinationModulo> modulo;
  if (routing == Routing::kModulo) {
    modulo.emplace(graph, cost, std::ranges::any_of(dst, [&](int32_t node) { return graph.is_switch(node); }));
  }
  Walker walker(graph, routing, seed, link_class, modulo ? &*modulo : nullptr);
  std::vector<int32_t> wanted;
  for (size_t begin = 0, end = 0; begin < src.size(); begin = end) {
    const int32_t destination = dst[order[begin]];
    wanted.clear();
    while (end < src.size() && dst[order[end]] == destination) wanted.push_back(src[order[end++]]);
    const NextLinks next = next_links(graph, cost, destination, Forwarders::kAny, wanted, true);
    for (size_t at = begin; at < end; at++) {
      require_route(next, src[order[at]], destination);
      found[order[at]] = walker.paths(next, src[order[at]], destination, flow[order[at]]);
    }
  }
  return joined(found);
}

}  // namespace hocket::topology
