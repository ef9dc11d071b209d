#include "hocket/topology/max_flow.hpp"

#include <algorithm>

namespace hocket::topology {

// Arc 2k and its reverse 2k+1: the partner of an arc is its number with the last bit flipped.
void MaxFlow::add_arc(int32_t from, int32_t to, Capacity capacity) {
  arcs_[from].push_back(static_cast<int32_t>(to_.size()));
  to_.push_back(to);
  capacity_.push_back(capacity);
  arcs_[to].push_back(static_cast<int32_t>(to_.size()));
  to_.push_back(from);
  capacity_.push_back(0);
}

// Dinic's algorithm (1970): blocking flows in ever longer level graphs, at most one a node. Capacities are 128-bit
// integers, so results are exact whatever the units.
MaxFlow::Capacity MaxFlow::run(int32_t source, int32_t sink) {
  residual_ = capacity_;
  Capacity flow = 0;
  while (find_levels(source, sink)) flow += blocking_flow(source, sink);
  return flow;
}

// What has no level in the end is the sink's side of a minimum cut.
bool MaxFlow::find_levels(int32_t source, int32_t sink) {
  std::fill(level_.begin(), level_.end(), -1);
  level_[source] = 0;
  queue_.assign(1, source);
  for (size_t at = 0; at < queue_.size(); at++) {
    for (const int32_t arc : arcs_[queue_[at]]) {
      if (residual_[arc] == 0 || level_[to_[arc]] >= 0) continue;
      level_[to_[arc]] = level_[queue_[at]] + 1;
      queue_.push_back(to_[arc]);
    }
  }
  return level_[sink] >= 0;
}

MaxFlow::Capacity MaxFlow::blocking_flow(int32_t source, int32_t sink) {
  std::fill(next_arc_.begin(), next_arc_.end(), 0);
  Capacity flow = 0;
  path_.clear();
  for (int32_t node = source;;) {
    if (node == sink) {
      const auto narrower = [&](int32_t a, int32_t b) { return residual_[a] < residual_[b]; };
      const auto narrowest = std::min_element(path_.begin(), path_.end(), narrower);
      const Capacity pushed = residual_[*narrowest];
      for (const int32_t arc : path_) {
        residual_[arc] -= pushed;
        residual_[arc ^ 1] += pushed;
      }
      flow += pushed;
      // On from where the path broke: what lies before it still has capacity left.
      node = to_[*narrowest ^ 1];
      path_.erase(narrowest, path_.end());
    } else if (next_arc_[node] < arcs_[node].size()) {
      const int32_t arc = arcs_[node][next_arc_[node]];
      if (residual_[arc] > 0 && level_[to_[arc]] == level_[node] + 1) {
        path_.push_back(arc);
        node = to_[arc];
      } else {
        next_arc_[node]++;
      }
    } else if (node == source) {
      return flow;
    } else {  // a dead end: go back and try the arc after the one that led here
      node = to_[path_.back() ^ 1];
      path_.pop_back();
      next_arc_[node]++;
    }
  }
}

}  // namespace hocket::topology
