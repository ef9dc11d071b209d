#include "hocket/synthesizer/trees_schedule.hpp"

#include <algorithm>
#include <utility>

namespace hocket::synthesizer {
namespace {

/// Sums flow over the trees `first` to their roots, then what the roots have over the trees `second` to all. Backwards
/// in time the trees change parts.
struct View {
  const std::vector<int32_t>&first, &second;
  bool forwards;
};

int32_t other_end(const Network& network, int32_t link, int32_t rank) {
  return network.src[link] ^ network.dst[link] ^ rank;
}

/// The children of each rank in the trees of all chunks.
class Children {
 public:
  Children(const Network& network, const Trees& trees, const std::vector<int32_t>& links)
      : num_ranks_(trees.num_ranks) {
    if (links.empty()) return;
    offset_.reserve(static_cast<size_t>(trees.num_chunks()) * (num_ranks_ + 1));
    ranks_.resize(links.size());
    std::vector<int32_t> next(num_ranks_ + 1);
    for (int32_t chunk = 0; chunk < trees.num_chunks(); chunk++) {
      const auto row = trees.row(links, chunk);
      std::ranges::fill(next, 0);
      for (int32_t rank = 0; rank < num_ranks_; rank++) {
        if (row[rank] != kNoLink) next[other_end(network, row[rank], rank) + 1]++;
      }
      for (int32_t rank = 0; rank < num_ranks_; rank++) next[rank + 1] += next[rank];
      offset_.insert(offset_.end(), next.begin(), next.end());
      int32_t* ranks = ranks_.data() + static_cast<size_t>(chunk) * num_ranks_;
      for (int32_t rank = 0; rank < num_ranks_; rank++) {
        if (row[rank] != kNoLink) ranks[next[other_end(network, row[rank], rank)]++] = rank;
      }
    }
  }
  std::span<const int32_t> of(int32_t chunk, int32_t rank) const {
    const int32_t* offset = offset_.data() + static_cast<size_t>(chunk) * (num_ranks_ + 1) + rank;
    return std::span(ranks_).subspan(static_cast<size_t>(chunk) * num_ranks_ + offset[0], offset[1] - offset[0]);
  }

 private:
  int32_t num_ranks_;
  std::vector<int32_t> offset_, ranks_;
};

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

class Run {
 public:
  Run(const Network& network, const Trees& trees, const View& view, const std::vector<Picoseconds>& due,
      const Stop& stop, TreeTimes& times)
      : network_(network),
        trees_(trees),
        view_(view),
        due_(due),
        stop_(stop),
        times_(times),
        ids_(trees),
        children_(network, trees, view.second),
        lacks_(view.first.size(), 0),
        queue_(network.num_links()),
        busy_(network.users.size(), 0),
        waiting_(network.users.size()),
        stirred_(network.num_links(), 0),
        shared_(network.path.ids.size() != network.src.size() || network.users.ids.size() != network.src.size()) {
    times_.finish.assign(ids_.size(), 0);
    times_.order.clear();
    times_.order.reserve(ids_.size());
    times_.time = 0;
  }

  void solve() {
    for (int32_t chunk = 0; chunk < trees_.num_chunks(); chunk++) open(chunk);
    while (true) {
      start_stirred();
      if (events_.empty()) return;
      stop_.check();
      now_ = events_.front().time;
      while (!events_.empty() && events_.front().time == now_) happen(pop(events_));
    }
  }

 private:
  struct Waiting {
    Picoseconds due;
    int64_t id;
    auto operator<=>(const Waiting&) const = default;
  };
  /// A link becomes free (`id` -1 - link), or a transfer has arrived.
  struct Event {
    Picoseconds time;
    int64_t id;
    auto operator<=>(const Event&) const = default;
  };

  int64_t first_id(int32_t chunk, int32_t rank) const {
    return view_.forwards ? ids_.up(chunk, rank) : ids_.down(chunk, rank);
  }
  int64_t second_id(int32_t chunk, int32_t rank) const {
    return view_.forwards ? ids_.down(chunk, rank) : ids_.up(chunk, rank);
  }
  int32_t& lacks(int32_t chunk, int32_t rank) { return lacks_[static_cast<size_t>(chunk) * trees_.num_ranks + rank]; }

  /// Readies what a chunk can begin with.
  void open(int32_t chunk) {
    if (view_.first.empty()) return spread(chunk, trees_.root[chunk]);
    const auto row = trees_.row(view_.first, chunk);
    for (int32_t rank = 0; rank < trees_.num_ranks; rank++) {
      if (row[rank] != kNoLink) lacks(chunk, other_end(network_, row[rank], rank))++;
    }
    for (int32_t rank = 0; rank < trees_.num_ranks; rank++) {
      if (lacks(chunk, rank) == 0) summed(chunk, rank);
    }
  }

  void summed(int32_t chunk, int32_t rank) {
    if (rank == trees_.root[chunk]) return spread(chunk, rank);
    ready(trees_.row(view_.first, chunk)[rank], first_id(chunk, rank));
  }

  void spread(int32_t chunk, int32_t rank) {
    if (view_.second.empty()) return;
    const auto row = trees_.row(view_.second, chunk);
    for (int32_t child : children_.of(chunk, rank)) ready(row[child], second_id(chunk, child));
  }

  void ready(int32_t link, int64_t id) {
    push(queue_[link], Waiting{due_[id], id});
    stir(link);
  }

  void stir(int32_t link) {
    if (stirred_[link]) return;
    stirred_[link] = 1;
    to_start_.push_back(link);
  }

  /// Lets all links try whose first transfer or freedom has changed, in the order in which their transfers are due.
  void start_stirred() {
    if (shared_) {
      std::ranges::sort(to_start_, [&](int32_t a, int32_t b) { return queue_[a].front() < queue_[b].front(); });
    }
    for (int32_t link : to_start_) {
      stirred_[link] = 0;
      const auto path = network_.path[link];
      const auto obstacle = std::ranges::find_if(path, [&](int32_t physical) { return busy_[physical]; });
      if (obstacle != path.end()) {
        waiting_[*obstacle].push_back(link);
        continue;
      }
      start(link, pop(queue_[link]).id);
      if (!queue_[link].empty()) waiting_[path.front()].push_back(link);
    }
    to_start_.clear();
  }

  void start(int32_t link, int64_t id) {
    for (int32_t physical : network_.path[link]) busy_[physical] = 1;
    times_.finish[id] = within_horizon(now_ + network_.travel[link]);
    if (view_.forwards) times_.order.push_back(id);
    times_.time = std::max(times_.time, times_.finish[id]);
    // Most often a transfer frees its links when it arrives: one event for both.
    if (network_.hold[link] < network_.travel[link]) push(events_, Event{now_ + network_.hold[link], -1 - link});
    push(events_, Event{times_.finish[id], id});
  }

  void happen(const Event& event) {
    if (event.id < 0) return release(static_cast<int32_t>(-1 - event.id));
    const int32_t chunk = ids_.chunk(event.id), rank = ids_.rank(event.id);
    if (!view_.forwards) times_.order.push_back(event.id);
    const int32_t link = ids_.link(trees_, event.id);
    if (network_.hold[link] == network_.travel[link]) release(link);
    if (ids_.down(event.id) == view_.forwards) return spread(chunk, rank);
    const int32_t parent = other_end(network_, link, rank);
    if (--lacks(chunk, parent) == 0) summed(chunk, parent);
  }

  void release(int32_t link) {
    for (int32_t physical : network_.path[link]) {
      busy_[physical] = 0;
      for (int32_t other : waiting_[physical]) stir(other);
      waiting_[physical].clear();
    }
  }

  const Network& network_;
  const Trees& trees_;
  const View& view_;
  const std::vector<Picoseconds>& due_;
  const Stop& stop_;
  TreeTimes& times_;
  TreeTransfers ids_;
  Children children_;                          ///< in the trees `second`
  std::vector<int32_t> lacks_;                 ///< [chunk][rank] sums that have not come yet
  std::vector<std::vector<Waiting>> queue_;    ///< [link] heap of what is ready
  std::vector<char> busy_;                     ///< [physical link]
  std::vector<std::vector<int32_t>> waiting_;  ///< [physical link] links that try again when it is free
  std::vector<char> stirred_;                  ///< [link] whether it is in to_start_
  std::vector<int32_t> to_start_;
  bool shared_;                ///< whether physical links serve several links
  std::vector<Event> events_;  ///< heap
  Picoseconds now_ = 0;
};

/// Makes a schedule found backwards one that runs forwards.
void turn_around(const Network& network, const Trees& trees, TreeTimes& times) {
  const TreeTransfers ids(trees);
  std::ranges::reverse(times.order);
  for (int64_t id : times.order) {
    times.finish[id] = times.time - times.finish[id] + network.travel[ids.link(trees, id)];
  }
}

}  // namespace

void schedule(const Network& network, const Trees& trees, Direction direction, const std::vector<Picoseconds>& due,
              const Stop& stop, TreeTimes& times) {
  const bool forwards = direction == Direction::kForwards;
  const View view{forwards ? trees.up : trees.down, forwards ? trees.down : trees.up, forwards};
  Run(network, trees, view, due, stop, times).solve();
}

std::vector<Picoseconds> due_times(const Network& network, const Trees& trees, Picoseconds interval) {
  const TreeTransfers ids(trees);
  const Children up(network, trees, trees.up), down(network, trees, trees.down);
  std::vector<Picoseconds> due(ids.size(), 0);
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
      for (int32_t rank : order) due[ids.down(chunk, rank)] = at_root;
      for (size_t at = order.size(); at-- > 1;) {
        Picoseconds& mine = due[ids.down(chunk, order[at])];
        mine -= network.travel[row[order[at]]];
        Picoseconds& above = due[ids.down(chunk, other_end(network, row[order[at]], order[at]))];
        above = std::min(above, mine);
      }
      at_root = due[ids.down(chunk, root)];
    }
    if (!trees.up.empty()) {
      const auto row = trees.row(trees.up, chunk);
      walk(up, chunk);
      due[ids.up(chunk, root)] = at_root;
      for (size_t at = 1; at < order.size(); at++) {
        const int32_t rank = order[at];
        due[ids.up(chunk, rank)] = due[ids.up(chunk, other_end(network, row[rank], rank))] - network.travel[row[rank]];
      }
    }
  }
  return due;
}

TreeTimes best_schedule(const Network& network, const Trees& trees, Picoseconds interval, int passes,
                        Picoseconds target_ps, const Stop& stop) {
  std::vector<Picoseconds> due = due_times(network, trees, interval);
  TreeTimes best, times;
  best.time = kNever;
  Direction best_direction = Direction::kForwards;
  for (int pass = 0; pass < passes && best.time > target_ps; pass++) {
    const auto direction = pass % 2 == 0 ? Direction::kForwards : Direction::kBackwards;
    schedule(network, trees, direction, due, stop, times);
    for (size_t id = 0; id < due.size(); id++) due[id] = -times.finish[id];
    if (times.time < best.time) {
      std::swap(best, times);
      best_direction = direction;
    }
  }
  if (best_direction == Direction::kBackwards) turn_around(network, trees, best);
  return best;
}

ReducingTransfers transfers(const Network& network, const Trees& trees, const TreeTimes& times) {
  const TreeTransfers ids(trees);
  ReducingTransfers result;
  result.transfers.reserve(times.order.size());
  result.reduce.reserve(times.order.size());
  for (int64_t id : times.order) {
    const int32_t chunk = ids.chunk(id), link = ids.link(trees, id);
    result.transfers.add(chunk, link, times.finish[id] - network.travel[link], times.finish[id]);
    result.reduce.push_back(!ids.down(id));
  }
  return result;
}

}  // namespace hocket::synthesizer
