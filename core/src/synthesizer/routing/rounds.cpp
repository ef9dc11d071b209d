#include "hocket/synthesizer/routing/rounds.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "switch_ways.hpp"

namespace hocket::synthesizer {
namespace {

/// So many ways are looked at for a packet.
constexpr size_t kMostWays = 64;

/// A set of rounds.
/// Bits, so that the first round in which all links of a way are free is found 64 rounds at a time.
class RoundSet {
 public:
  uint64_t word(size_t at) const { return at < words_.size() ? words_[at] : 0; }
  /// All words before it are full.
  size_t first_open() const { return first_open_; }

  void add(int32_t round) {
    const size_t at = static_cast<size_t>(round) / 64;
    if (at >= words_.size()) words_.resize(at + 1, 0);
    words_[at] |= uint64_t{1} << (round % 64);
    while (first_open_ < words_.size() && ~words_[first_open_] == 0) first_open_++;
  }

 private:
  std::vector<uint64_t> words_;
  size_t first_open_ = 0;
};

class RoundScheduler {
 public:
  RoundScheduler(const topology::Graph& graph, const Packets& packets, bool blocking)
      : graph_(graph), packets_(packets), blocking_(blocking), ways_(graph), used_(graph.links().size()) {}

  std::optional<RoutedTransfers> run(const Stop& stop) {
    for (int64_t packet = 0; packet < packets_.size(); packet++) {
      if (ways_.length(packets_.src[packet], packets_.dst[packet]) < 0) return std::nullopt;
    }
    for (const int32_t packet : by_displacement()) {
      stop.check();
      place(packet);
    }
    std::ranges::stable_sort(placed_, {}, &Placed::round);
    return timed();
  }

 private:
  struct Placed {
    int32_t round, packet, route;
  };

  std::vector<int32_t> by_displacement() const {
    std::vector<int64_t> displacement;
    for (int64_t packet = 0; packet < packets_.size(); packet++) {
      displacement.push_back(ways_.displacement(packets_.src[packet], packets_.dst[packet]));
    }
    std::vector<int32_t> order(packets_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {},
                             [&](int32_t packet) { return std::pair(displacement[packet], packets_.src[packet]); });
    return order;
  }

  /// Gives a packet its first round, and the way that is free in it.
  void place(int32_t packet) {
    const auto ways = ways_.between(packets_.src[packet], packets_.dst[packet], kMostWays);
    // Pairs compare by round, then by number of the way: ties go to the first, the same one every time.
    std::pair<int32_t, size_t> best{first_free(ways.front()), 0};
    for (size_t way = 1; way < ways.size(); way++) best = std::min(best, {first_free(ways[way]), way});
    for (const int32_t link : ways[best.second]) used_[link].add(best.first);
    placed_.push_back({best.first, packet, routes_.number(ways[best.second])});
  }

  int32_t first_free(std::span<const int32_t> way) const {
    size_t at = 0;
    for (const int32_t link : way) at = std::max(at, used_[link].first_open());
    for (;; at++) {
      uint64_t taken = 0;
      for (const int32_t link : way) taken |= used_[link].word(at);
      if (~taken != 0) return static_cast<int32_t>(at * 64) + std::countr_one(taken);
    }
  }

  /// Each link takes its packets in the order of their rounds, as soon as all links of their ways can.
  RoutedTransfers timed() const {
    const Lists& routes = routes_.routes();
    std::vector<Picoseconds> free_at(used_.size(), 0), start(placed_.size());
    std::vector<Hop> hops;
    for (size_t at = 0; at < placed_.size(); at++) {
      const auto& [round, packet, route] = placed_[at];
      hops.push_back(first_hop(graph_, routes[route], packets_.bytes[packet], blocking_));
      for (const int32_t link : hops[at].links) start[at] = std::max(start[at], free_at[link]);
      for (const int32_t link : hops[at].links) free_at[link] = within_horizon(start[at] + hops[at].hold);
    }
    std::vector<size_t> order(placed_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t at) { return start[at]; });
    RoutedTransfers result;
    result.route_offset.assign(routes.offset.begin(), routes.offset.end());
    result.route_links = routes.ids;
    for (const size_t at : order) {
      result.packet.push_back(placed_[at].packet);
      result.route.push_back(placed_[at].route);
      result.start.push_back(start[at]);
      result.finish.push_back(within_horizon(start[at] + hops[at].travel));
      result.time = std::max(result.time, result.finish.back());
    }
    return result;
  }

  const topology::Graph& graph_;
  Packets packets_;
  bool blocking_;
  SwitchWays ways_;
  std::vector<RoundSet> used_;  // of each link
  RouteNumbers routes_;
  std::vector<Placed> placed_;
};

}  // namespace

std::optional<RoutedTransfers> schedule_rounds(const topology::Graph& graph, const Packets& packets, bool blocking,
                                               const Stop& stop) {
  return RoundScheduler(graph, packets, blocking).run(stop);
}

}  // namespace hocket::synthesizer
