#include "hocket/synthesizer/trees/improvement.hpp"

#include <utility>

namespace hocket::synthesizer {
namespace {

/// After so many passes in a row that did not help, more hardly ever do.
constexpr int kPatience = 2;

}  // namespace

TimedLegs best_schedule(const Lanes& lanes, const Legs& legs, Picoseconds interval, int passes, Picoseconds target_ps,
                        const Stop& stop) {
  Urgency urgency = due_times(lanes, legs, interval);
  TimedLegs best;
  best.time = kNever;
  int failures = 0;
  for (int pass = 0; pass < passes && failures < kPatience && best.time > target_ps; pass++) {
    const Direction direction = pass % 2 == 0 ? Direction::kForwards : Direction::kBackwards;
    // The urgency that a pass leaves is the order of the pass before, reversed: what ended last
    // begins first when time runs the other way. A pass may still be longer than the one before, so the best of all is
    // kept.
    TimedLegs timed = schedule_legs(lanes, legs, direction, urgency, stop);
    failures = timed.time < best.time ? 0 : failures + 1;
    if (failures == 0) best = std::move(timed);
  }
  return best;
}

ReducingTransfers transfers(const Network& network, const Lanes& lanes, const Legs& legs, const TimedLegs& timed,
                            std::span<const int64_t> chunk_bytes) {
  ReducingTransfers result;
  result.transfers.reserve(timed.legs.size() * lanes.order());
  result.reduce.reserve(timed.legs.size() * lanes.order());
  for (size_t at = 0; at < timed.legs.size(); at++) {
    const int32_t leg = timed.legs[at], link = legs[leg].link;
    // Smaller chunks end earlier, and no later one relies on more than what was timed.
    const Picoseconds start = timed.finish[at] - network.travel[link];
    for (int32_t element = 0; element < lanes.order(); element++) {
      const int32_t chunk = legs.chunk(leg) * lanes.order() + element;
      const Picoseconds travel = network.times(link, chunk_bytes[chunk]).travel;
      result.transfers.add(chunk, lanes.image(element, link), start, start + travel);
      result.reduce.push_back(legs.sums(leg));
    }
  }
  return result;
}

}  // namespace hocket::synthesizer
