#include "hocket/synthesizer/trees/schedule.hpp"

#include <algorithm>
#include <functional>

namespace hocket::synthesizer {
namespace {

template <typename T>
void push(std::vector<T>& heap, const T& value) {
  heap.push_back(value);
  std::ranges::push_heap(heap, std::greater<>());
}

template <typename T>
T pop(std::vector<T>& heap) {
  std::ranges::pop_heap(heap, std::greater<>());
  const T top = heap.back();
  heap.pop_back();
  return top;
}

/// A leg that can go, in one word: the more urgent, then that of the lesser number, is less.
/// Comparing one integer instead of a pair: the queue is where the time goes.
class Ready {
 public:
  Ready(int32_t urgency, int32_t leg) : word_(int64_t{urgency} << 32 | leg) {}
  int32_t leg() const { return static_cast<int32_t>(word_); }
  auto operator<=>(const Ready&) const = default;

 private:
  int64_t word_;
};

/// Sums flow over the trees of one family to their roots, then what the roots have over those of the other to all.
/// Backwards in time in-trees and out-trees change parts.
///
/// The overlap of summing and spreading is what makes this quicker than reduce_scatter and then all_gather: a chunk
/// that is summed up early is spread while others still come in, and on meshes both directions of a link have work.
///
/// Invariant: a leg is ready when all that it sends has come, and starts when all wires of its lane are free; no lane
/// that could start rests.
class Run {
 public:
  Run(const Lanes& lanes, const Legs& legs, Direction direction, Urgency& urgency, const Stop& stop)
      : lanes_(lanes),
        legs_(legs),
        forwards_(direction == Direction::kForwards),
        sums_(legs.families() == 2 || !forwards_),
        spreads_(legs.families() == 2 || forwards_),
        sums_from_(forwards_ ? 0 : (legs.families() - 1) * legs.per_family()),
        spreads_from_(forwards_ ? (legs.families() - 1) * legs.per_family() : 0),
        urgency_(urgency),
        stop_(stop),
        missing_(legs.size(), 0),
        queues_(lanes.num_lanes()),
        busy_(lanes.num_wires(), 0),
        waiting_(lanes.num_wires()),
        shared_(lanes.shared()) {
    result_.legs.reserve(legs.size());
    result_.finish.reserve(legs.size());
  }

  TimedLegs solve() {
    open();
    while (true) {
      start_stirred();
      if (events_.empty()) break;
      stop_.check();
      now_ = events_.front().time;
      while (!events_.empty() && events_.front().time == now_) happen(pop(events_).what);
    }
    result_.time = now_;
    if (!forwards_) turn_around();
    return std::move(result_);
  }

 private:
  struct Event {
    Picoseconds time;
    int32_t what;  ///< the leg that arrives; or, as ~lane, the lane whose wires are free again if that is not then
    auto operator<=>(const Event&) const = default;
  };
  /// A lane is in one place at a time: it has nothing to carry, tries to start, or waits for a wire.
  enum class State : char { kResting, kStirred, kWaiting };
  struct Queue {
    std::vector<Ready> heap;
    State state = State::kResting;
  };

  /// Readies what can begin.
  void open() {
    for (int32_t at = 0; at < legs_.per_family(); at++) {
      if (!sums_) {
        if (legs_.is_root(spreads_from_ + at)) spread(spreads_from_ + at);
        continue;
      }
      const int32_t leg = sums_from_ + at;
      missing_[leg] = legs_[leg].num_children;
      if (missing_[leg] == 0) ready(leg);
    }
  }

  void spread(int32_t leg) {
    const int32_t first = legs_[leg].first_child, last = first + legs_[leg].num_children;
    for (int32_t child = first; child < last; child++) ready(child);
  }

  void ready(int32_t leg) {
    const int32_t lane = lanes_.of(legs_[leg].link);
    Queue& queue = queues_[lane];
    push(queue.heap, Ready(urgency_[leg], leg));
    if (queue.state == State::kResting) stir(lane);
  }

  void stir(int32_t lane) {
    queues_[lane].state = State::kStirred;
    stirred_.push_back(lane);
  }

  void wait(int32_t lane, int32_t wire) {
    queues_[lane].state = State::kWaiting;
    waiting_[wire].push_back(lane);
  }

  void start_stirred() {
    if (shared_) {  // else they cannot get into each other's way
      std::ranges::sort(stirred_, {}, [&](int32_t lane) { return queues_[lane].heap.front(); });
    }
    for (int32_t lane : stirred_) {
      const auto wires = lanes_.wires(lane);
      const auto obstacle = std::ranges::find_if(wires, [&](int32_t wire) { return busy_[wire]; });
      if (obstacle != wires.end()) {
        wait(lane, *obstacle);
        continue;
      }
      Queue& queue = queues_[lane];
      start(lane, pop(queue.heap).leg());
      queue.state = State::kResting;
      if (!queue.heap.empty()) wait(lane, wires.front());
    }
    stirred_.clear();
  }

  void start(int32_t lane, int32_t leg) {
    for (int32_t wire : lanes_.wires(lane)) busy_[wire] = 1;
    const Picoseconds finish = within_horizon(now_ + lanes_.travel(lane));
    if (forwards_) add(leg, finish);
    push(events_, Event{finish, leg});
    if (lanes_.hold(lane) < lanes_.travel(lane)) push(events_, Event{now_ + lanes_.hold(lane), ~lane});
  }

  void happen(int32_t what) {
    if (what < 0) return free(~what);
    const Leg& leg = legs_[what];
    if (!forwards_) add(what, now_);
    // For the next pass, which runs the other way: what ended last here begins first there.
    urgency_[what] = -arrivals_++;
    const int32_t lane = lanes_.of(leg.link);
    if (lanes_.hold(lane) == lanes_.travel(lane)) free(lane);
    // Three cases: it brought what a subtree's root spreads on; it was a part of a sum; it was the last part at the
    // root.
    if (!sums_ || (what >= sums_from_ + legs_.per_family()) || what < sums_from_) return spread(what);
    if (--missing_[leg.parent] > 0) return;
    if (!legs_.is_root(leg.parent)) return ready(leg.parent);
    if (spreads_) spread(leg.parent - sums_from_ + spreads_from_);
  }

  void free(int32_t lane) {
    for (int32_t wire : lanes_.wires(lane)) {
      busy_[wire] = 0;
      for (int32_t other : waiting_[wire]) stir(other);
      waiting_[wire].clear();
    }
  }

  void add(int32_t leg, Picoseconds finish) {
    result_.legs.push_back(leg);
    result_.finish.push_back(finish);
  }

  /// Makes what was found backwards, in the order of arrivals, run forwards.
  void turn_around() {
    std::ranges::reverse(result_.legs);
    std::ranges::reverse(result_.finish);
    for (size_t at = 0; at < result_.legs.size(); at++) {
      Picoseconds& finish = result_.finish[at];
      finish = result_.time - finish + lanes_.travel(lanes_.of(legs_[result_.legs[at]].link));
    }
  }

  const Lanes& lanes_;
  const Legs& legs_;
  const bool forwards_, sums_, spreads_;
  const int32_t sums_from_, spreads_from_;  ///< the first leg of the family that sums up, of the one that spreads
  Urgency& urgency_;
  const Stop& stop_;
  std::vector<int32_t> missing_;               ///< [leg] what has to come before it can go
  std::vector<Queue> queues_;                  ///< [lane] what can go
  std::vector<char> busy_;                     ///< [wire]
  std::vector<std::vector<int32_t>> waiting_;  ///< [wire] lanes that try again when it is free
  std::vector<int32_t> stirred_;               ///< lanes that try next
  const bool shared_;
  std::vector<Event> events_;  ///< heap
  int32_t arrivals_ = 0;
  Picoseconds now_ = 0;
  TimedLegs result_;
};

}  // namespace

TimedLegs schedule_legs(const Lanes& lanes, const Legs& legs, Direction direction, Urgency& urgency, const Stop& stop) {
  return Run(lanes, legs, direction, urgency, stop).solve();
}

}  // namespace hocket::synthesizer
