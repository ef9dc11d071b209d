#include "hocket/synthesizer/balancing/alternatives.hpp"

#include <algorithm>
#include <utility>

#include "hocket/columns.hpp"
#include "hocket/synthesizer/routing/packets.hpp"
#include "hocket/topology/shortest_tree.hpp"

namespace hocket::synthesizer {
namespace {

/// A link costs so many times its weight more for each path of the pair that takes it.
constexpr int64_t kPenalty = 3;
/// The most used link of all pairs' paths costs such a part of its weight more: of many paths that cost the same, as
/// over the spines of a fat tree, each pair has others.
constexpr int64_t kShare = 16;
/// A path may cost so many times the first.
constexpr int64_t kDearest = 4;
/// No hop counts as slower than 2^20 times the fastest, no latency as longer than what 2^50 bytes take.
constexpr int64_t kSlowest = int64_t{1} << (20 + Alternatives::kSlownessBits), kMostBytes = int64_t{1} << 50;

class Finder {
 public:
  Finder(const topology::Graph& graph, std::span<const uint8_t> relays, std::span<const int64_t> weight)
      : graph_(graph), tree_(graph, topology::passable_nodes(graph, relays)), weight_(weight), used_(weight.size()) {
    result_.num_ranks = graph.num_ranks();
    result_.path_hops.offset.push_back(0);
  }

  Alternatives run(int32_t most) {
    const int32_t ranks = graph_.num_ranks();
    for (int32_t src = 0; src < ranks; src++) {
      for (int32_t dst = 0; dst < ranks; dst++) {
        result_.first_path.push_back(result_.path_hops.size());
        if (src != dst) find(src, dst, most);
      }
    }
    result_.first_path.push_back(result_.path_hops.size());
    result_.hop_links = numbers_.routes();
    for (int32_t hop = 0; hop < result_.hop_links.size(); hop++) add_times(hop);
    add_units();
    find_ports();
    return std::move(result_);
  }

 private:
  /// One pair's paths. Prices are the pair's own but for the small part that all pairs before it have a say in.
  void find(int32_t src, int32_t dst, int32_t most) {
    std::vector<int64_t> price(weight_.size());
    for (size_t link = 0; link < price.size(); link++) {
      price[link] = weight_[link] + weight_[link] / kShare * used_[link] / (most_used_ + 1);
    }
    std::vector<std::vector<int32_t>> found;
    int64_t first_cost = 0;
    for (int32_t at = 0; at < most; at++) {
      tree_.grow(src, price, std::span(&dst, 1));
      if (tree_.link_into(dst) < 0) return;
      std::vector<int32_t> path;
      int64_t cost = 0;
      for (int32_t node = dst; node != src; node = graph_.links()[path.back()].src) {
        path.push_back(tree_.link_into(node));
        cost += weight_[path.back()];
      }
      std::ranges::reverse(path);
      if (at == 0) first_cost = cost;
      // A path that comes again or costs too much only raises the prices: others may still be hidden behind it.
      for (const int32_t link : path) price[link] += kPenalty * weight_[link];
      if (cost > kDearest * first_cost || std::ranges::find(found, path) != found.end()) continue;
      for (const int32_t link : path) most_used_ = std::max(most_used_, ++used_[link]);
      add(path);
      found.push_back(std::move(path));
    }
  }

  /// Cuts a path into hops.
  void add(std::span<const int32_t> path) {
    for (size_t first = 0, last = 0; first < path.size(); first = last) {
      while (graph_.is_switch(graph_.links()[path[last++]].dst)) continue;
      result_.path_hops.ids.push_back(numbers_.number(path.subspan(first, last - first)));
    }
    result_.path_hops.offset.push_back(static_cast<int32_t>(result_.path_hops.ids.size()));
  }

  void add_times(int32_t hop) {
    Picoseconds latency = 0;
    Bandwidth slowest = graph_.links()[result_.hop_links[hop].front()].bandwidth;
    for (const int32_t id : result_.hop_links[hop]) {
      latency = add_ps(latency, graph_.links()[id].latency_ps);
      slowest = std::min(slowest, graph_.links()[id].bandwidth);
    }
    result_.latency.push_back(latency);
    result_.slowest.push_back(slowest);
  }

  void add_units() {
    Bandwidth fastest = 1;
    for (const Bandwidth slowest : result_.slowest) fastest = std::max(fastest, slowest);
    for (size_t hop = 0; hop < result_.slowest.size(); hop++) {
      const __int128 slowness = (static_cast<__int128>(fastest) << Alternatives::kSlownessBits) / result_.slowest[hop];
      const __int128 bytes = static_cast<__int128>(result_.latency[hop]) * fastest / kPicosecondsPerSecond;
      result_.slowness.push_back(static_cast<int64_t>(std::min<__int128>(slowness, kSlowest)));
      result_.latency_bytes.push_back(static_cast<int64_t>(std::min<__int128>(bytes, kMostBytes)));
    }
  }

  /// The ports of the hops: of each set of links that are held together one, of a link and the trunk that all its hops
  /// go on to the trunk.
  void find_ports() {
    const auto num_links = static_cast<int32_t>(graph_.links().size());
    const Lists users = result_.hop_links.inverted(num_links);
    std::vector<int32_t> port(num_links, -1);
    for (int32_t link = 0; link < num_links; link++) {
      if (!users[link].empty() && !is_covered(link, users)) port[link] = result_.num_ports++;
    }
    result_.hop_ports.offset.push_back(0);
    for (int32_t hop = 0; hop < result_.hop_links.size(); hop++) {
      for (const int32_t link : result_.hop_links[hop]) {
        if (port[link] >= 0) result_.hop_ports.ids.push_back(port[link]);
      }
      result_.hop_ports.offset.push_back(static_cast<int32_t>(result_.hop_ports.ids.size()));
    }
  }

  /// Whether some other link is held whenever this one is; of links that are always held together the first counts.
  bool is_covered(int32_t link, const Lists& users) const {
    for (const int32_t other : result_.hop_links[users[link].front()]) {
      const auto mine = users[link], others = users[other];
      if (other == link || others.size() < mine.size() || (others.size() == mine.size() && other > link)) continue;
      if (std::ranges::includes(others, mine)) return true;
    }
    return false;
  }

  const topology::Graph& graph_;
  topology::ShortestTree tree_;
  std::span<const int64_t> weight_;
  std::vector<int64_t> used_;  // of a link, paths over it so far
  int64_t most_used_ = 0;
  RouteNumbers numbers_;
  Alternatives result_;
};

}  // namespace

Alternatives find_alternatives(const topology::Graph& graph, std::span<const uint8_t> relays,
                               std::span<const int64_t> weight, int32_t most) {
  check_size(weight.size(), graph.links().size(), "the weights of links");
  // Sums of so many penalties over any path stay far from the largest number.
  check_within(weight, 1, int64_t{1} << 40, "the weights of links");
  check_within(most, 1, 64, "the number of paths");
  return Finder(graph, relays, weight).run(most);
}

}  // namespace hocket::synthesizer
