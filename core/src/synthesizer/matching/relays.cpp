#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "hocket/synthesizer/matching/demand.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

/// Whether every rank that may hold the chunk wants it.
bool goes_straight(const Demand& demand, int32_t chunk) {
  const int32_t wanted = demand.wanted[chunk], through = demand.through[chunk];
  return wanted == schedule::RankSets::kEveryone || wanted == through;
}

/// Sends chunk after chunk along the tree on which it is everywhere first.
/// Relays are decided before the search because a matching is blind to them: it brings chunks to who wants them, and a
/// rank that only passes on wants nothing. One chunk after the other, each on the links as the ones before left them,
/// so that the trees share the network; ways are only advice, for the search may find that a chunk comes sooner
/// otherwise.
class Planner {
 public:
  Planner(const Network& network, const Demand& demand, const Stop& stop)
      : network_(network),
        stop_(stop),
        demand_(demand),
        relays_(network.num_ranks, demand.words()),
        free_(network.users.size(), 0),
        may_hold_(network.num_ranks),
        wants_(network.num_ranks),
        in_tree_(network.num_ranks),
        reached_(network.num_ranks),
        arrival_(network.num_ranks),
        by_(network.num_ranks) {}

  /// Adds ranks one at a time, the nearest first: with undirected links of
  /// fixed length that is at most twice the cheapest Steiner tree; with these, which wait, it is a heuristic.
  void send(int32_t chunk) {
    may_hold_.assign(network_.num_ranks, false);
    wants_.assign(network_.num_ranks, false);
    in_tree_.assign(network_.num_ranks, false);
    for (const int32_t rank : demand_.sets.of(demand_.through[chunk])) may_hold_[rank] = true;
    for (const int32_t rank : demand_.sets.of(demand_.wanted[chunk])) may_hold_[rank] = wants_[rank] = true;
    const int32_t origin = demand_.origin[chunk];
    tree_.assign(1, origin);
    arrival_[origin] = 0;
    in_tree_[origin] = true;
    int64_t left = std::count(wants_.begin(), wants_.end(), true) - wants_[origin];
    for (; left > 0; left--) {
      stop_.check();
      join(nearest(chunk), chunk);
    }
  }

  BitRows take() { return std::move(relays_); }

 private:
  Network::Times times(int32_t link, int32_t chunk) const {
    return network_.times(link, demand_.bytes.empty() ? network_.chunk_bytes : demand_.bytes[chunk]);
  }

  Picoseconds start(int32_t link) const {
    Picoseconds time = arrival_[network_.src[link]];
    for (const int32_t physical : network_.path[link]) time = std::max(time, free_[physical]);
    return time;
  }

  /// The rank outside the tree that wants the chunk and can have it first, with `by_` leading there (Dijkstra: what
  /// starts later on a link arrives later).
  int32_t nearest(int32_t chunk) {
    using Entry = std::pair<Picoseconds, int32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    reached_.assign(network_.num_ranks, false);
    for (const int32_t rank : tree_) {
      reached_[rank] = true;
      queue.emplace(arrival_[rank], rank);
    }
    while (!queue.empty()) {
      const auto [time, rank] = queue.top();
      queue.pop();
      if (time > arrival_[rank]) continue;
      if (wants_[rank] && !in_tree_[rank]) return rank;
      for (const int32_t link : network_.out[rank]) {
        const int32_t next = network_.dst[link];
        if (!may_hold_[next] || in_tree_[next]) continue;
        const Picoseconds at = add_ps(start(link), times(link, chunk).travel);
        if (reached_[next] && at >= arrival_[next]) continue;
        reached_[next] = true;
        arrival_[next] = at;
        by_[next] = link;
        queue.emplace(at, next);
      }
    }
    throw_cut_off(reached_, chunk, demand_.origin[chunk]);
  }

  /// Takes the path to `rank` into the tree.
  void join(int32_t rank, int32_t chunk) {
    for (; !in_tree_[rank]; rank = network_.src[by_[rank]]) {
      in_tree_[rank] = true;
      tree_.push_back(rank);
      if (!wants_[rank]) insert(relays_[rank], chunk);
      const int32_t link = by_[rank];
      const Network::Times takes = times(link, chunk);
      // Until when the link is held: it started at arrival - travel, and gives up its wires after `hold`.
      for (const int32_t physical : network_.path[link]) free_[physical] = arrival_[rank] - takes.travel + takes.hold;
    }
  }

  const Network& network_;
  const Stop& stop_;
  const Demand& demand_;
  BitRows relays_;
  std::vector<Picoseconds> free_;                 ///< [physical link] until when it is taken
  std::vector<bool> may_hold_, wants_, in_tree_;  ///< [rank]
  std::vector<bool> reached_;                     ///< [rank]
  std::vector<Picoseconds> arrival_;              ///< [rank] of the chunk, where reached
  std::vector<int32_t> by_;                       ///< [rank] link that brought it
  std::vector<int32_t> tree_;                     ///< ranks
};

}  // namespace

bool may_relay(const Demand& demand) {
  for (int32_t chunk = 0; chunk < demand.num_chunks(); chunk++) {
    if (!goes_straight(demand, chunk)) return true;
  }
  return false;
}

BitRows plan_relays(const Network& network, const Demand& demand, uint64_t seed, const Stop& stop) {
  std::vector<int32_t> order(demand.num_chunks());
  std::iota(order.begin(), order.end(), 0);
  Random random(seed);
  for (size_t left = order.size(); left > 1; left--) std::swap(order[left - 1], order[random.below(left)]);
  if (!demand.priority.empty()) {
    std::ranges::stable_sort(order, {}, [&](int32_t chunk) { return demand.priority[chunk]; });
  }
  Planner planner(network, demand, stop);
  for (const int32_t chunk : order) planner.send(chunk);
  return planner.take();
}

void prune(Transfers& transfers, const Network& network, const Demand& demand) {
  // From the last to the first: when a transfer is looked at, all that could need its chunk from its dst have been
  // seen.
  BitRows needed = demand.lacking();  // [rank] chunks that it wants or sends on to one that needs it
  const size_t count = transfers.chunk.size();
  std::vector<bool> kept(count);
  for (size_t id = count; id-- > 0;) {
    const int32_t chunk = transfers.chunk[id], link = transfers.link[id];
    kept[id] = test(needed[network.dst[link]], chunk);
    if (kept[id]) insert(needed[network.src[link]], chunk);
  }
  Transfers rest;
  for (size_t id = 0; id < count; id++) {
    if (kept[id]) rest.add(transfers.chunk[id], transfers.link[id], transfers.start[id], transfers.finish[id]);
  }
  transfers = std::move(rest);
}

}  // namespace hocket::synthesizer
