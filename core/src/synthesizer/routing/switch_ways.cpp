#include "switch_ways.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace hocket::synthesizer {

SwitchWays::SwitchWays(const topology::Graph& graph) : graph_(graph) {
  std::vector<int32_t> queue;
  for (int32_t rank = 0; rank < graph.num_ranks(); rank++) {
    std::vector<int32_t>& length = length_.emplace_back(graph.num_nodes(), -1);
    length[rank] = 0;
    queue.assign(1, rank);
    for (size_t at = 0; at < queue.size(); at++) {
      const int32_t node = queue[at];
      // Other ranks are reached but not passed.
      if (node != rank && !graph.is_switch(node)) continue;
      for (const int32_t link : graph.out_links(node)) {
        const int32_t next = graph.links()[link].dst;
        if (length[next] >= 0) continue;
        length[next] = length[node] + 1;
        queue.push_back(next);
      }
    }
  }
  find_levels();
}

void SwitchWays::find_levels() {
  const int32_t ranks = graph_.num_ranks();
  std::set<int32_t> lengths;
  for (const std::vector<int32_t>& from : length_) lengths.insert(from.begin(), from.begin() + ranks);
  std::vector<int32_t> below(ranks);
  std::iota(below.begin(), below.end(), 0);
  for (const int32_t most : lengths) {
    if (most <= 0) continue;
    Level level{below, std::vector<int32_t>(ranks), 1};
    for (int32_t src = 0; src < ranks; src++) {
      for (int32_t dst = 0; dst < ranks; dst++) {
        const int32_t a = level.group[src], b = level.group[dst];
        if (a == b || length_[src][dst] < 0 || length_[src][dst] > most) continue;
        // The smaller number stands for the group, which is that of its first rank.
        std::ranges::replace(level.group, std::max(a, b), std::min(a, b));
      }
    }
    std::vector<int32_t> groups(ranks, 0);  // of the level below, in each group so far
    for (int32_t rank = 0; rank < ranks; rank++) {
      int32_t& count = groups[level.group[rank]];
      level.position[rank] = below[rank] == rank ? count++ : level.position[below[rank]];
      level.size = std::max(level.size, count);
    }
    below = level.group;
    levels_.push_back(std::move(level));
  }
}

int64_t SwitchWays::displacement(int32_t src, int32_t dst) const {
  int64_t result = 0;
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    // Counted so that the neighbour is 0 and the own group is last: what stays inside fills gaps, see schedule_rounds.
    const int32_t between = level->position[dst] - level->position[src] - 1 + level->size;
    result = result * level->size + between % level->size;
  }
  return result;
}

std::vector<std::vector<int32_t>> SwitchWays::between(int32_t src, int32_t dst, size_t most) const {
  std::vector<std::vector<int32_t>> ways;
  std::vector<int32_t> way(length_[src][dst]);
  // Backwards from dst, over nodes that are one link closer to src.
  const auto extend = [&](const auto& self, int32_t node) -> void {
    const int32_t left = length_[src][node];
    if (left == 0) {
      ways.push_back(way);
      return;
    }
    for (const int32_t link : graph_.in_links(node)) {
      const int32_t before = graph_.links()[link].src;
      const bool leads_on = length_[src][before] == left - 1 && (before == src || graph_.is_switch(before));
      if (!leads_on || ways.size() >= most) continue;
      way[left - 1] = link;
      self(self, before);
    }
  };
  extend(extend, dst);
  return ways;
}

}  // namespace hocket::synthesizer
