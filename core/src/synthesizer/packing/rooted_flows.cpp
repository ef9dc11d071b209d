#include "rooted_flows.hpp"

#include <algorithm>
#include <array>

namespace hocket::synthesizer {

RootedFlows::RootedFlows(int32_t num_nodes, int32_t num_sinks, const Stop& stop)
    : stop_(stop), source_(num_nodes), at_(num_nodes + 1), flow_(num_sinks), reached_by_(num_nodes + 1) {}

int32_t RootedFlows::add_node() {
  at_.emplace_back();
  reached_by_.push_back(kUnreached);
  return static_cast<int32_t>(at_.size()) - 1;
}

int32_t RootedFlows::add_arc(int32_t from, int32_t to, Amount capacity) {
  const auto arc = static_cast<int32_t>(from_.size());
  from_.push_back(from);
  to_.push_back(to);
  capacity_.push_back(capacity);
  at_[from].push_back(arc);
  at_[to].push_back(~arc);
  for (std::vector<Amount>& flow : flow_) flow.push_back(0);
  return arc;
}

// Breadth first: shortest augmenting paths (Edmonds and Karp 1972). What stays unreached after a failure is the sink's
// side of a minimum cut, which `on_source_side` tells.
bool RootedFlows::reach(int32_t sink, int32_t from, int32_t to) {
  std::ranges::fill(reached_by_, kUnreached);
  reached_by_[from] = 0;
  queue_.assign(1, from);
  for (size_t at = 0; at < queue_.size(); at++) {
    for (const int32_t mark : at_[queue_[at]]) {
      const int32_t next = head(mark);
      if (reached_by_[next] != kUnreached || residual(sink, mark) <= 0) continue;
      reached_by_[next] = mark;
      if (next == to) return true;
      queue_.push_back(next);
    }
  }
  return false;
}

RootedFlows::Amount RootedFlows::augment(int32_t sink, int32_t from, int32_t to, Amount wanted) {
  Amount sent = 0;
  while (sent < wanted && reach(sink, from, to)) {
    Amount pushed = wanted - sent;
    for (int32_t node = to; node != from; node = tail(reached_by_[node])) {
      pushed = std::min(pushed, residual(sink, reached_by_[node]));
    }
    for (int32_t node = to; node != from; node = tail(reached_by_[node])) {
      const int32_t mark = reached_by_[node];
      flow_[sink][mark >= 0 ? mark : ~mark] += mark >= 0 ? pushed : -pushed;
    }
    sent += pushed;
  }
  return sent;
}

RootedFlows::Amount RootedFlows::repair(int32_t sink, int32_t arc) {
  const Amount excess = flow_[sink][arc] - capacity_[arc];
  if (excess <= 0) return 0;
  // The excess is taken off the arc and led from its tail to its head otherwise; conservation holds before and after.
  flow_[sink][arc] -= excess;
  const Amount missing = excess - augment(sink, from_[arc], to_[arc], excess);
  flow_[sink][arc] += missing;
  return missing;
}

RootedFlows::Amount RootedFlows::shift(int32_t less, int32_t less_too, int32_t more, Amount most) {
  stop_.check();
  const std::array<int32_t, 3> arcs{less, less_too, more};
  // First as if all could go, then back as much as some sink is short of.
  const auto move = [&](Amount amount) {
    capacity_[less] -= amount;
    if (less_too != kNone) capacity_[less_too] -= amount;
    if (more != kNone) capacity_[more] += amount;
  };
  Amount shifted = std::min(most, capacity_[less]);
  if (less_too != kNone) shifted = std::min(shifted, capacity_[less_too]);
  move(shifted);
  const int32_t first = strictest_;  // it probably forbids again what it forbade before
  for (int32_t at = 0; at < num_sinks() && shifted > 0; at++) {
    const int32_t sink = (first + at) % num_sinks();
    for (size_t which = 0; which < arcs.size();) {
      const Amount missing = arcs[which] == kNone ? 0 : repair(sink, arcs[which]);
      which++;
      if (missing == 0) continue;
      // A cut lacks as much: what was shifted crosses it once, so that much less can be shifted.
      const Amount back = std::min(missing, shifted);
      move(-back);
      shifted -= back;
      strictest_ = sink;
      // The sinks before this one were content with more on `more`; some may have used it.
      for (int32_t before = 0; before < at && more != kNone; before++) repair((first + before) % num_sinks(), more);
      which = 0;
    }
  }
  return shifted;
}

// Flows are divided as well, so that none has to be found anew: of each arc as much as the new node still needs.
int32_t RootedFlows::divide(int32_t supply, int32_t without, Amount amount) {
  const int32_t old = to_[supply], fresh = add_node();
  const int32_t fresh_supply = add_arc(source_, fresh, amount);
  capacity_[supply] -= amount;
  capacity_[without] = kUnlimited;
  const std::vector<int32_t> marks = at_[old];
  std::vector<Amount> left(flow_.size(), amount);  // [sink] what is still to be taken over
  for (const int32_t mark : marks) {
    if (mark < 0 || mark == without || capacity_[mark] == 0) continue;
    const int32_t arc = add_arc(fresh, to_[mark], kUnlimited);
    for (size_t sink = 0; sink < flow_.size(); sink++) {
      std::vector<Amount>& flow = flow_[sink];
      const Amount taken = std::min(left[sink], flow[mark]);
      left[sink] -= taken;
      flow[mark] -= taken;
      flow[arc] += taken;
      flow[supply] -= taken;
      flow[fresh_supply] += taken;
    }
  }
  return fresh_supply;
}

}  // namespace hocket::synthesizer
