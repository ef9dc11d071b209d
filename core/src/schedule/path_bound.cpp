#include "hocket/schedule/path_bound.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "hocket/topology/shortest_tree.hpp"

namespace hocket::schedule {
namespace {

using topology::Graph;

constexpr int kPriceBits = 30;
constexpr int kDistanceBits = 50;
constexpr int kByteBits = 55;

/// How long each link is held for a chunk of the largest size, at least. A smaller chunk of c bytes holds it for at
/// least c / largest of that: rounding up makes up for less than the picosecond taken off where chunks differ.
std::vector<Picoseconds> least_holds(const Graph& graph, const Traffic& traffic, Holding holding) {
  std::vector<Picoseconds> holds;
  const bool rounded_up = traffic.alike && holding != Holding::kShared;
  for (const topology::Link& link : graph.links()) {
    const Picoseconds wire = serialization_ps(traffic.largest_chunk, link.bandwidth);
    const Picoseconds least = rounded_up ? wire : std::max<Picoseconds>(0, wire - 1);
    holds.push_back(holding == Holding::kBlocking ? add_ps(link.latency_ps, least) : least);
  }
  return holds;
}

/// Cheapest ways of traffic at given prices.
class Pricing {
 public:
  Pricing(const Graph& graph, const Traffic& traffic, Holding holding)
      : graph_(graph),
        traffic_(traffic),
        holding_(holding),
        holds_(least_holds(graph, traffic, holding)),
        tree_(graph, topology::passable_nodes(graph, {})),
        weight_(holds_.size()) {
    check_size(traffic.dst.size(), traffic.src.size(), "the destinations of traffic");
    check_size(traffic.bytes.size(), traffic.src.size(), "the bytes of traffic");
    check_ids(traffic.src, graph.num_ranks(), "the sources of traffic");
    check_ids(traffic.dst, graph.num_ranks(), "the destinations of traffic");
    check_within(traffic.bytes, 0, int64_t{1} << kByteBits, "the bytes of traffic");
    for (size_t at = 0; at < traffic.src.size(); at++) {
      if (at == 0 || traffic.src[at] != traffic.src[at - 1]) source_.push_back(at);
    }
    source_.push_back(traffic.src.size());
  }

  const std::vector<Picoseconds>& holds() const { return holds_; }
  size_t num_sources() const { return source_.size() - 1; }

  /// The bound that the prices give.
  Picoseconds bound(std::span<const int64_t> prices, Picoseconds least_ps) {
    set(prices);
    __int128 paid = 0, all_prices = 0, after_last = 0;
    for (size_t source = 0; source < num_sources(); source++) paid += pay(source);
    for (size_t link = 0; link < holds_.size(); link++) {
      all_prices += prices[link];
      if (holding_ == Holding::kBlocking) continue;
      after_last += static_cast<__int128>(prices[link]) * std::min(graph_.links()[link].latency_ps, least_ps);
    }
    // paid / largest * 2^shift / all_prices, by long division: the remainder stays below 2^110.
    const __int128 divisor = all_prices * std::max<int64_t>(1, traffic_.largest_chunk);
    __int128 quotient = paid / divisor, remainder = paid % divisor;
    for (int bit = 0; bit < shift_; bit++) {
      quotient *= 2;
      remainder *= 2;
      if (remainder >= divisor) {
        quotient++;
        remainder -= divisor;
      }
    }
    return within_horizon(quotient + after_last / all_prices);
  }

  /// Weights are prices * holds in units of 2^shift, so that distances stay below 2^kDistanceBits.
  void set(std::span<const int64_t> prices) {
    __int128 dearest = 1;
    for (size_t link = 0; link < holds_.size(); link++) {
      dearest = std::max(dearest, static_cast<__int128>(prices[link]) * holds_[link]);
    }
    shift_ = 0;
    while ((dearest * graph_.num_nodes()) >> shift_ >> kDistanceBits) shift_++;
    for (size_t link = 0; link < holds_.size(); link++) {
      weight_[link] = static_cast<int64_t>((static_cast<__int128>(prices[link]) * holds_[link]) >> shift_);
    }
  }

  /// Bytes times distances of what the source sends.
  __int128 pay(size_t source) {
    const size_t first = source_[source], last = source_[source + 1];
    tree_.grow(traffic_.src[first], weight_, traffic_.dst.subspan(first, last - first));
    __int128 paid = 0;
    for (size_t at = first; at < last; at++) {
      const int64_t distance = tree_.distance(traffic_.dst[at]);
      if (distance == kNever) {
        throw Infeasible("rank " + std::to_string(traffic_.src[at]) + " cannot reach rank " +
                         std::to_string(traffic_.dst[at]) + ": add links that connect them");
      }
      paid += static_cast<__int128>(traffic_.bytes[at]) * distance;
    }
    return paid;
  }

  /// After `pay`: how long the links on the ways are held, in units of holds / largest_chunk.
  void load(size_t source, std::vector<int64_t>& bytes) {
    for (size_t at = source_[source]; at < source_[source + 1]; at++) {
      for (int32_t node = traffic_.dst[at]; node != traffic_.src[at];) {
        const int32_t link = tree_.link_into(node);
        bytes[link] += traffic_.bytes[at];
        node = graph_.links()[link].src;
      }
    }
  }

 private:
  const Graph& graph_;
  Traffic traffic_;
  Holding holding_;
  std::vector<Picoseconds> holds_;
  topology::ShortestTree tree_;
  std::vector<int64_t> weight_;
  int shift_ = 0;
  std::vector<size_t> source_;  // where the pairs of each source begin
};

/// 2^(x / 2^16) for x <= 0 as a fraction of 2^kPriceBits, linear between powers of two.
int64_t power(int64_t x) {
  const int64_t whole = x >> 16, fraction = x & 65535;  // rounded towards minus infinity
  if (whole < -kPriceBits) return 0;
  return ((65536 + fraction) << (kPriceBits - 17)) >> -whole;
}

/// `prices` as parts of 2^kPriceBits of what `total` says.
std::vector<int64_t> scaled(std::span<const int64_t> prices, int64_t total) {
  std::vector<int64_t> result;
  for (const int64_t price : prices) {
    result.push_back(static_cast<int64_t>((static_cast<__int128>(price) << kPriceBits) / total));
  }
  return result;
}

class Weighing {
 public:
  Weighing(const Graph& graph, const Traffic& traffic, Holding holding)
      : pricing_(graph, traffic, holding),
        largest_chunk_(std::max<int64_t>(1, traffic.largest_chunk)),
        best_(graph.links().size(), 1),
        best_bound_(std::max<Picoseconds>(1, pricing_.bound(best_, 0))) {}

  const std::vector<int64_t>& best() const { return best_; }

  /// With `settled` prices stay as they are until all sources had their turn. Where many ways cost the same, links
  /// should get dearer as they fill; where sources have links of their own, prices must not depend on whose turn it is.
  void run(int rounds, bool settled) {
    std::vector<int64_t> bytes(best_.size()), sum(best_.size()), prices;
    int next_check = 1;
    for (int round = 1; round <= rounds; round++) {
      for (size_t source = 0; source < pricing_.num_sources(); source++) {
        if (source == 0 || !settled) {
          prices = reprice(bytes);
          pricing_.set(prices);
          const auto share = scaled(prices, std::accumulate(prices.begin(), prices.end(), int64_t{0}));
          for (size_t link = 0; link < sum.size(); link++) sum[link] += share[link];
        }
        pricing_.pay(source);
        pricing_.load(source, bytes);
      }
      if (round < next_check && round < rounds) continue;
      next_check = round + std::max(1, round / 4);
      offer(prices);
      offer(scaled(sum, std::ranges::max(sum)));
      for (int64_t& price : sum) price /= 4;  // prices of the beginning fade
    }
  }

 private:
  /// The price of a link doubles with every other round in which it is loaded all the time that the bound gives.
  std::vector<int64_t> reprice(std::span<const int64_t> bytes) const {
    std::vector<int64_t> doublings(bytes.size());
    for (size_t link = 0; link < bytes.size(); link++) {
      const __int128 load = static_cast<__int128>(bytes[link]) * pricing_.holds()[link] / largest_chunk_;
      doublings[link] = static_cast<int64_t>((load << 15) / best_bound_);
    }
    const int64_t most = std::ranges::max(doublings);
    for (int64_t& price : doublings) price = power(price - most);
    return doublings;
  }

  void offer(const std::vector<int64_t>& prices) {
    const Picoseconds bound = pricing_.bound(prices, 0);
    if (bound <= best_bound_) return;
    best_bound_ = bound;
    best_ = prices;
  }

  Pricing pricing_;
  int64_t largest_chunk_;
  std::vector<int64_t> best_;
  Picoseconds best_bound_;
};

}  // namespace

Picoseconds path_bound(const Graph& graph, const Traffic& traffic, Holding holding, std::span<const int64_t> prices,
                       Picoseconds least_ps) {
  check_size(prices.size(), graph.links().size(), "the prices of links");
  check_within(prices, 0, int64_t{1} << kPriceBits, "the prices of links");
  if (std::ranges::count(prices, 0) == std::ssize(prices)) throw ScheduleError("all prices are 0: they prove nothing");
  check_within(least_ps, 0, kHorizon, "the time already known");
  return Pricing(graph, traffic, holding).bound(prices, least_ps);
}

std::vector<int64_t> path_prices(const Graph& graph, const Traffic& traffic, Holding holding, int rounds) {
  check_within(std::ssize(graph.links()), 1, std::numeric_limits<int32_t>::max(), "the links");
  check_within(rounds, 1, std::numeric_limits<int>::max(), "the rounds");
  Weighing weighing(graph, traffic, holding);
  weighing.run(rounds / 2, true);
  weighing.run(rounds - rounds / 2, false);
  return weighing.best();
}

}  // namespace hocket::schedule
