#include "hocket/synthesizer/routing/schedule.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include "hocket/synthesizer/network.hpp"

namespace hocket::synthesizer {
namespace {

/// A packet at the start of a hop, the urgent ones larger.
struct Waiting {
  Picoseconds remaining;  // the hops before it, at best
  int32_t displacement;   // of its destination from its source
  int32_t packet;

  bool operator<(const Waiting& other) const {
    return std::tie(remaining, other.displacement, other.packet) < std::tie(other.remaining, displacement, packet);
  }
};

/// Greedy list scheduling (Graham 1966), event by event. Packets wait per route, not per link, so that what cannot
/// start is not looked at again until a link of its route is released.
///
/// Invariant: after `start_candidates` no waiting packet has all links of its hop free.
class ListScheduler {
 public:
  ListScheduler(const topology::Graph& graph, const Packets& packets, const Paths& paths, bool blocking, Rule rule)
      : graph_(graph),
        packets_(packets),
        blocking_(blocking),
        rule_(rule),
        busy_(graph.links().size()),
        left_(busy_.size()) {
    find_hops(paths);
    waiting_.resize(routes_.size());
    is_candidate_.resize(routes_.size());
    users_ = routes_.inverted(static_cast<int32_t>(graph.links().size()));
    result_.route_offset.assign(routes_.offset.begin(), routes_.offset.end());
    result_.route_links = routes_.ids;
  }

  RoutedTransfers run(const Stop& stop) {
    for (int32_t packet = 0; packet < packets_.size(); packet++) wait(packet);
    for (Picoseconds now = 0;; now = next_time()) {
      stop.check();
      while (!releases_.empty() && releases_.top().first == now) {
        for (const int32_t link : routes_[releases_.top().second]) release(link);
        releases_.pop();
      }
      while (!arrivals_.empty() && arrivals_.top().first == now) {
        const int32_t packet = arrivals_.top().second;
        arrivals_.pop();
        wait(packet);
      }
      start_candidates(now);
      if (releases_.empty() && arrivals_.empty()) return std::move(result_);
    }
  }

 private:
  using Event = std::pair<Picoseconds, int32_t>;
  using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

  /// Cuts the paths into hops, and numbers the distinct ones.
  void find_hops(const Paths& paths) {
    RouteNumbers numbers;
    next_hop_.reserve(paths.size());
    hops_.reserve(paths.links.size());
    for (int64_t packet = 0; packet < paths.size(); packet++) {
      next_hop_.push_back(static_cast<int64_t>(hops_.size()));
      Picoseconds remaining = 0;
      for (std::span<const int32_t> way = paths[packet]; !way.empty();) {
        const Hop hop = first_hop(graph_, way, packets_.bytes[packet], blocking_);
        hops_.push_back(numbers.number(hop.links));
        remaining = add_ps(remaining, hop.travel);
        for (const int32_t link : hop.links) left_[link] = add_ps(left_[link], hop.hold);
        way = way.subspan(hop.links.size());
      }
      remaining_.push_back(remaining);
    }
    next_hop_.push_back(static_cast<int64_t>(hops_.size()));
    routes_ = numbers.routes();
    last_hop_.assign(next_hop_.begin() + 1, next_hop_.end());
  }

  Picoseconds next_time() const {
    const Picoseconds release = releases_.empty() ? kNever : releases_.top().first;
    return arrivals_.empty() ? release : std::min(release, arrivals_.top().first);
  }

  /// The packet is at the start of its next hop, or at its destination.
  void wait(int32_t packet) {
    if (next_hop_[packet] == last_hop_[packet]) return;
    const int32_t route = hops_[next_hop_[packet]];
    const int32_t ranks = graph_.num_ranks();
    const int32_t displacement = (packets_.dst[packet] - packets_.src[packet] + ranks) % ranks;
    waiting_[route].push({remaining_[packet], displacement, packet});
    consider(route);
  }

  void release(int32_t link) {
    busy_[link] = 0;
    for (const int32_t route : users_[link]) consider(route);
  }

  void consider(int32_t route) {
    if (waiting_[route].empty() || std::exchange(is_candidate_[route], 1)) return;
    candidates_.push_back(route);
  }

  bool free(int32_t route) const {
    return std::ranges::none_of(routes_[route], [&](int32_t link) { return busy_[link]; });
  }

  /// Whether route a chooses first.
  bool before(int32_t a, int32_t b) const {
    // As in an open shop: the machine with most work ahead chooses first, since its work bounds the whole.
    if (rule_ == Rule::kBusiestLink) {
      const auto of_a = work_left(a), of_b = work_left(b);
      if (of_a != of_b) return of_a > of_b;
    }
    return waiting_[b].top() < waiting_[a].top();
  }

  /// How much the busiest link of a route has still to do, and all of its links.
  std::pair<Picoseconds, Picoseconds> work_left(int32_t route) const {
    Picoseconds most = 0, sum = 0;
    for (const int32_t link : routes_[route]) {
      most = std::max(most, left_[link]);
      sum = add_ps(sum, left_[link]);
    }
    return {most, sum};
  }

  void start_candidates(Picoseconds now) {
    for (const int32_t route : candidates_) is_candidate_[route] = 0;
    std::erase_if(candidates_, [&](int32_t route) { return !free(route); });
    std::ranges::sort(candidates_, [&](int32_t a, int32_t b) { return before(a, b); });
    for (const int32_t route : candidates_) {
      if (free(route)) start(route, now);
    }
    candidates_.clear();
  }

  void start(int32_t route, Picoseconds now) {
    const int32_t packet = waiting_[route].top().packet;
    waiting_[route].pop();
    const Hop hop = first_hop(graph_, routes_[route], packets_.bytes[packet], blocking_);
    for (const int32_t link : hop.links) {
      busy_[link] = 1;
      left_[link] -= hop.hold;
    }
    const Picoseconds finish = within_horizon(now + hop.travel);
    result_.packet.push_back(packet);
    result_.route.push_back(route);
    result_.start.push_back(now);
    result_.finish.push_back(finish);
    result_.time = std::max(result_.time, finish);
    remaining_[packet] -= hop.travel;
    next_hop_[packet]++;
    releases_.emplace(now + hop.hold, route);
    arrivals_.emplace(finish, packet);
  }

  const topology::Graph& graph_;
  Packets packets_;
  bool blocking_;
  Rule rule_;
  Lists routes_;                                       // physical links of each distinct hop
  Lists users_;                                        // routes over each physical link
  std::vector<int32_t> hops_;                          // routes of all packets, one packet after the other
  std::vector<int64_t> next_hop_, last_hop_;           // of a packet, positions in hops_
  std::vector<Picoseconds> remaining_;                 // of a packet
  std::vector<uint8_t> busy_;                          // of a link
  std::vector<Picoseconds> left_;                      // of a link, what it has still to do
  std::vector<std::priority_queue<Waiting>> waiting_;  // of a route
  std::vector<int32_t> candidates_;                    // routes that may start now
  std::vector<uint8_t> is_candidate_;
  Events releases_, arrivals_;  // of routes, of packets
  RoutedTransfers result_;
};

}  // namespace

RoutedTransfers schedule_packets(const topology::Graph& graph, const Packets& packets, const Paths& paths,
                                 bool blocking, Rule rule, const Stop& stop) {
  return ListScheduler(graph, packets, paths, blocking, rule).run(stop);
}

}  // namespace hocket::synthesizer
