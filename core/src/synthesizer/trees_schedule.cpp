#include "hocket/synthesizer/trees_schedule.hpp"

#include <algorithm>
#include <functional>

#include "trees_children.hpp"

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

/// Sums flow over the trees `first` to their roots, then what the roots have over the trees `second` to all. Backwards
/// in time in-trees and out-trees change parts.
class Run {
 public:
  Run(const Network& network, const Trees& trees, Direction direction, LegTimes& due, const Stop& stop)
      : network_(network),
        trees_(trees),
        forwards_(direction == Direction::kForwards),
        first_(forwards_ ? trees.up : trees.down),
        second_(forwards_ ? trees.down : trees.up),
        due_(due),
        stop_(stop),
        children_(network, trees, second_),
        lacks_(first_.size(), 0),
        links_(network.num_links()),
        busy_(network.users.size(), 0),
        waiting_(network.users.size()),
        shared_(network.path.ids.size() != network.src.size() || network.users.ids.size() != network.src.size()) {
    const size_t legs = trees.up.size() + trees.down.size();
    result_.legs.reserve(legs);
    result_.finish.reserve(legs);
  }

  TimedLegs solve() {
    for (int32_t chunk = 0; chunk < trees_.num_chunks(); chunk++) open(chunk);
    while (true) {
      start_stirred();
      if (events_.empty()) break;
      stop_.check();
      now_ = events_.front().time;
      while (!events_.empty() && events_.front().time == now_) happen(pop(events_));
    }
    result_.time = now_;
    if (!forwards_) turn_around();
    return std::move(result_);
  }

 private:
  struct Ready {
    Picoseconds due;
    Leg leg;
    auto operator<=>(const Ready&) const = default;
  };
  /// A leg has arrived.
  struct Arrival {
    Picoseconds time;
    Leg leg;
    auto operator<=>(const Arrival&) const = default;
  };
  /// A link is in one place at a time: it has nothing to carry, tries to start, or waits for a physical link.
  enum class State : char { kResting, kStirred, kWaiting };
  struct Queue {
    std::vector<Ready> heap;
    State state = State::kResting;
  };

  int32_t& lacks(int32_t chunk, int32_t rank) { return lacks_[static_cast<size_t>(chunk) * trees_.num_ranks + rank]; }

  /// Readies what a chunk can begin with.
  void open(int32_t chunk) {
    if (first_.empty()) return spread(chunk, trees_.root[chunk]);
    const auto row = trees_.row(first_, chunk);
    for (int32_t rank = 0; rank < trees_.num_ranks; rank++) {
      if (row[rank] != kNoLink) lacks(chunk, other_end(network_, row[rank], rank))++;
    }
    for (int32_t rank = 0; rank < trees_.num_ranks; rank++) {
      if (lacks(chunk, rank) == 0) summed(chunk, rank);
    }
  }

  void summed(int32_t chunk, int32_t rank) {
    if (rank == trees_.root[chunk]) return spread(chunk, rank);
    ready(trees_.row(first_, chunk)[rank], Leg(chunk, rank, !forwards_));
  }

  void spread(int32_t chunk, int32_t rank) {
    if (second_.empty()) return;
    const auto row = trees_.row(second_, chunk);
    for (int32_t child : children_.of(chunk, rank)) ready(row[child], Leg(chunk, child, forwards_));
  }

  void ready(int32_t link, const Leg& leg) {
    Queue& queue = links_[link];
    push(queue.heap, Ready{due_[leg], leg});
    if (queue.state == State::kResting) stir(link);
  }

  void stir(int32_t link) {
    links_[link].state = State::kStirred;
    stirred_.push_back(link);
  }

  void wait(int32_t link, int32_t physical) {
    links_[link].state = State::kWaiting;
    waiting_[physical].push_back(link);
  }

  void start_stirred() {
    if (shared_) {  // else they cannot get into each other's way
      std::ranges::sort(stirred_, {}, [&](int32_t link) { return links_[link].heap.front(); });
    }
    for (int32_t link : stirred_) {
      const auto path = network_.path[link];
      const auto obstacle = std::ranges::find_if(path, [&](int32_t physical) { return busy_[physical]; });
      if (obstacle != path.end()) {
        wait(link, *obstacle);
        continue;
      }
      Queue& queue = links_[link];
      start(link, pop(queue.heap).leg);
      queue.state = State::kResting;
      if (!queue.heap.empty()) wait(link, path.front());
    }
    stirred_.clear();
  }

  void start(int32_t link, const Leg& leg) {
    for (int32_t physical : network_.path[link]) busy_[physical] = 1;
    const Picoseconds finish = within_horizon(now_ + network_.travel[link]);
    due_[leg] = -finish;
    if (forwards_) add(leg, finish);
    push(events_, Arrival{finish, leg});
    if (network_.hold[link] < network_.travel[link]) push(events_, Arrival{now_ + network_.hold[link], release(link)});
  }

  void happen(const Arrival& event) {
    if (event.leg.chunk < 0) return free(event.leg.code);
    const Leg& leg = event.leg;
    if (!forwards_) add(leg, event.time);
    const int32_t link = leg.link(trees_);
    if (network_.hold[link] == network_.travel[link]) free(link);
    if (leg.down() == forwards_) return spread(leg.chunk, leg.rank());
    const int32_t parent = other_end(network_, link, leg.rank());
    if (--lacks(leg.chunk, parent) == 0) summed(leg.chunk, parent);
  }

  /// Stands for the end of a link's hold where that is not the arrival of what it carries.
  static Leg release(int32_t link) {
    Leg leg(-1, 0, false);
    leg.code = link;
    return leg;
  }

  void free(int32_t link) {
    for (int32_t physical : network_.path[link]) {
      busy_[physical] = 0;
      for (int32_t other : waiting_[physical]) stir(other);
      waiting_[physical].clear();
    }
  }

  void add(const Leg& leg, Picoseconds finish) {
    result_.legs.push_back(leg);
    result_.finish.push_back(finish);
  }

  /// Makes what was found backwards, in the order of arrivals, run forwards.
  void turn_around() {
    std::ranges::reverse(result_.legs);
    std::ranges::reverse(result_.finish);
    for (size_t at = 0; at < result_.legs.size(); at++) {
      Picoseconds& finish = result_.finish[at];
      finish = result_.time - finish + network_.travel[result_.legs[at].link(trees_)];
    }
  }

  const Network& network_;
  const Trees& trees_;
  const bool forwards_;
  const std::vector<int32_t>&first_, &second_;
  LegTimes& due_;
  const Stop& stop_;
  const Children children_;                    ///< in the trees `second`
  std::vector<int32_t> lacks_;                 ///< [chunk][rank] sums that have not come yet
  std::vector<Queue> links_;                   ///< [link] what is ready
  std::vector<char> busy_;                     ///< [physical link]
  std::vector<std::vector<int32_t>> waiting_;  ///< [physical link] links that try again when it is free
  std::vector<int32_t> stirred_;               ///< links that try next
  const bool shared_;                          ///< whether physical links serve several links
  std::vector<Arrival> events_;                ///< heap
  Picoseconds now_ = 0;
  TimedLegs result_;
};

}  // namespace

TimedLegs schedule_legs(const Network& network, const Trees& trees, Direction direction, LegTimes& due,
                        const Stop& stop) {
  return Run(network, trees, direction, due, stop).solve();
}

}  // namespace hocket::synthesizer
