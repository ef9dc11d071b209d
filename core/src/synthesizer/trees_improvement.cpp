#include "hocket/synthesizer/trees_improvement.hpp"

#include <algorithm>
#include <utility>

#include "trees_children.hpp"

namespace hocket::synthesizer {
namespace {

/// After so many passes in a row that did not help, more hardly ever do.
constexpr int kPatience = 2;

}  // namespace

LegTimes due_times(const Network& network, const Trees& trees, Picoseconds interval) {
  const Children up(network, trees, trees.up), down(network, trees, trees.down);
  LegTimes due(trees);
  std::vector<int32_t> order;
  /// The ranks of a chunk's tree, parents first.
  const auto walk = [&](const Children& children, int32_t chunk) {
    order.assign(1, trees.root[chunk]);
    for (size_t at = 0; at < order.size(); at++) {
      for (int32_t child : children.of(chunk, order[at])) order.push_back(child);
    }
  };
  for (int32_t chunk = 0; chunk < trees.num_chunks(); chunk++) {
    const int32_t root = trees.root[chunk];
    Picoseconds at_root = chunk * interval;
    if (!trees.down.empty()) {
      const auto row = trees.row(trees.down, chunk);
      walk(down, chunk);
      for (int32_t rank : order) due[Leg(chunk, rank, true)] = at_root;
      for (size_t at = order.size(); at-- > 1;) {
        Picoseconds& mine = due[Leg(chunk, order[at], true)];
        mine -= network.travel[row[order[at]]];
        Picoseconds& above = due[Leg(chunk, other_end(network, row[order[at]], order[at]), true)];
        above = std::min(above, mine);
      }
      at_root = due[Leg(chunk, root, true)];
    }
    if (!trees.up.empty()) {
      const auto row = trees.row(trees.up, chunk);
      walk(up, chunk);
      due[Leg(chunk, root, false)] = at_root;
      for (size_t at = 1; at < order.size(); at++) {
        const int32_t rank = order[at];
        due[Leg(chunk, rank, false)] =
            due[Leg(chunk, other_end(network, row[rank], rank), false)] - network.travel[row[rank]];
      }
    }
  }
  return due;
}

TimedLegs best_schedule(const Network& network, const Trees& trees, Picoseconds interval, int passes,
                        Picoseconds target_ps, const Stop& stop) {
  LegTimes due = due_times(network, trees, interval);
  TimedLegs best;
  best.time = kNever;
  int failures = 0;
  for (int pass = 0; pass < passes && failures < kPatience && best.time > target_ps; pass++) {
    const Direction direction = pass % 2 == 0 ? Direction::kForwards : Direction::kBackwards;
    TimedLegs timed = schedule_legs(network, trees, direction, due, stop);
    failures = timed.time < best.time ? 0 : failures + 1;
    if (failures == 0) best = std::move(timed);
  }
  return best;
}

ReducingTransfers transfers(const Network& network, const Trees& trees, const TimedLegs& timed) {
  ReducingTransfers result;
  result.transfers.reserve(timed.legs.size());
  result.reduce.reserve(timed.legs.size());
  for (size_t at = 0; at < timed.legs.size(); at++) {
    const Leg& leg = timed.legs[at];
    const int32_t link = leg.link(trees);
    result.transfers.add(leg.chunk, link, timed.finish[at] - network.travel[link], timed.finish[at]);
    result.reduce.push_back(!leg.down());
  }
  return result;
}

}  // namespace hocket::synthesizer
