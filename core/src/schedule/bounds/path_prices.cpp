#include <algorithm>
#include <limits>
#include <utility>

#include "hocket/columns.hpp"
#include "pricing.hpp"

namespace hocket::schedule {
namespace {

using topology::Graph;

/// Prices double with each 1/sharpness of the busiest link's load, in the first round and in the last.
constexpr int kFirstSharpness = 10, kLastSharpness = 300;
/// Parts of the longest hold, and of the largest amount of a pair.
constexpr int kHoldBits = 14, kAmountBits = 16;
/// The search ends when the load shows that the bound cannot grow by more than 1 part in so many.
constexpr int64_t kPrecision = 2'000;

/// 2^(x / 2^16) for x <= 0 as a fraction of 2^kPriceBits, linear between powers of two.
int64_t power(int64_t x) {
  const int64_t whole = x >> 16, fraction = x & 65535;  // rounded towards minus infinity
  if (whole < -kPriceBits) return 0;
  return ((65536 + fraction) << (kPriceBits - 17)) >> -whole;
}

/// `values` as parts of 2^bits of the largest, 1 at least.
std::vector<int64_t> scaled(std::span<const int64_t> values, int bits) {
  const __int128 largest = std::max<int64_t>(1, std::ranges::max(values));
  std::vector<int64_t> result;
  for (const int64_t value : values) {
    result.push_back(std::max<int64_t>(1, static_cast<int64_t>((static_cast<__int128>(value) << bits) / largest)));
  }
  return result;
}

Picoseconds largest_load(std::span<const Picoseconds> holds, const Traffic& traffic) {
  const int64_t chunks = (std::ranges::max(traffic.bytes) - 1) / std::max<int64_t>(1, traffic.largest_chunk) + 1;
  return static_cast<Picoseconds>(std::min<__int128>(static_cast<__int128>(std::ranges::max(holds)) * chunks, kNever));
}

/// Traffic split over ways so that none that a pair uses is dearer than another, where links get dearer with their
/// load.
///
/// Any prices prove a bound, so nothing here needs to be exact or to converge; `Pricing::bound` is the proof, and this
/// a search for a good one. What makes it good: at the optimum of the fluid flow, dual prices are what a congestion
/// game's users pay in equilibrium (Wardrop), with prices that rise steeply enough.
class Equilibrium {
 public:
  Equilibrium(const Graph& graph, const Traffic& traffic, Holding holding)
      : pricing_(graph, traffic, holding),
        hold_(scaled(pricing_.holds(), kHoldBits)),
        amount_(scaled(traffic.bytes, kAmountBits)),
        largest_load_(largest_load(pricing_.holds(), traffic)),
        ways_(amount_.size()),
        load_(hold_.size()),
        price_(hold_.size(), 1),
        differs_(hold_.size()),
        best_(price_),
        best_bound_(pricing_.bound(best_, 0)) {}

  std::vector<int64_t> run(int rounds, Picoseconds least_ps) {
    for (int round = 0; round < rounds; round++) {
      sharpness_ = kFirstSharpness + (kLastSharpness - kFirstSharpness) * round / std::max(1, rounds - 1);
      for (size_t source = 0; source < pricing_.num_sources(); source++) balance(source);
      reprice();
      const Picoseconds bound = pricing_.bound(price_, 0);
      if (bound > best_bound_) {
        best_bound_ = bound;
        best_ = price_;
      }
      // Duality gap: the load is what these ways need, which no bound can exceed.
      const __int128 proved = std::max(best_bound_, least_ps);
      if (busiest_ps() * (kPrecision - 1) <= proved * kPrecision) break;
    }
    return std::move(best_);
  }

 private:
  struct Way {
    std::vector<int32_t> links;
    int64_t amount;
  };

  /// At least what the busiest link is held: no prices prove more.
  __int128 busiest_ps() const { return static_cast<__int128>(busiest_) * largest_load_ >> (kHoldBits + kAmountBits); }

  int64_t price(int32_t link) const {
    const __int128 below = static_cast<__int128>(busiest_ - load_[link]) * (sharpness_ << 16) / busiest_;
    const auto doublings = static_cast<int64_t>(std::min<__int128>(below, int64_t{2 * kPriceBits} << 16));
    return std::max<int64_t>(1, power(-std::max<int64_t>(0, doublings)));
  }

  void reprice() {
    busiest_ = std::max<int64_t>(1, std::ranges::max(load_));
    for (size_t link = 0; link < load_.size(); link++) price_[link] = price(static_cast<int32_t>(link));
  }

  void balance(size_t source) {
    reprice();
    // Source by source, each with the prices that those before it left: Gauss-Seidel, not Jacobi, which would
    // oscillate.
    pricing_.set(price_);
    pricing_.pay(source);
    const auto [first, last] = pricing_.pairs_of(source);
    for (size_t pair = first; pair < last; pair++) {
      pricing_.way(pair, found_);
      balance(ways_[pair], amount_[pair]);
    }
  }

  /// Moves some of a pair's amount to its cheapest way, which may be the one just found.
  void balance(std::vector<Way>& ways, int64_t amount) {
    if (ways.empty()) {
      ways.push_back({found_, amount});
      add(ways[0], amount);
      return;
    }
    if (std::ranges::find(ways, found_, &Way::links) == ways.end()) ways.push_back({found_, 0});
    const auto cheapest = std::ranges::min_element(ways, {}, [&](const Way& way) { return cost(way); });
    for (Way& way : ways) {
      if (&way != &*cheapest) move(way, *cheapest);
    }
    std::erase_if(ways, [](const Way& way) { return way.amount == 0; });
  }

  int64_t cost(const Way& way) const {
    int64_t sum = 0;
    for (const int32_t link : way.links) sum += price_[link] * hold_[link];
    return sum;
  }

  /// A step of Newton's method for the amount at which both cost the same, of one doubling of prices at most.
  void move(Way& from, Way& to) {
    // Links of both ways cost both the same and drop out; a link that stands twice in the marks is in both.
    for (const int32_t link : to.links) differs_[link] ^= 1;
    for (const int32_t link : from.links) differs_[link] ^= 1;
    __int128 slope = 1;
    int64_t gain = 0, longest = 1;
    for (const auto& [way, sign] : {std::pair(&from, 1), std::pair(&to, -1)}) {
      for (const int32_t link : way->links) {
        if (!std::exchange(differs_[link], 0)) continue;
        const int64_t cost = price_[link] * hold_[link];
        gain += sign * cost;
        slope += static_cast<__int128>(cost) * hold_[link];
        longest = std::max(longest, hold_[link]);
      }
    }
    if (gain <= 0) return;
    const int64_t doubling = busiest_ / sharpness_;
    const __int128 step = static_cast<__int128>(gain) * doubling * 3 / 2 / slope;  // 1 / log(2) is about 3/2
    const int64_t amount = static_cast<int64_t>(std::min<__int128>({step, doubling / longest, from.amount}));
    add(from, -amount);
    add(to, amount);
    from.amount -= amount;
    to.amount += amount;
  }

  void add(const Way& way, int64_t amount) {
    for (const int32_t link : way.links) {
      load_[link] += amount * hold_[link];
      price_[link] = price(link);
    }
  }

  Pricing pricing_;
  std::vector<int64_t> hold_, amount_;  // in parts of the longest, of the largest
  Picoseconds largest_load_;            // of one pair on one link
  std::vector<std::vector<Way>> ways_;  // of each pair
  std::vector<int64_t> load_, price_;   // of each link
  std::vector<uint8_t> differs_;        // of each link, 0 between calls
  std::vector<int32_t> found_;          // the way of the pair that is looked at
  std::vector<int64_t> best_;
  Picoseconds best_bound_;
  int64_t busiest_ = 1;
  int sharpness_ = 1;
};

}  // namespace

std::vector<int64_t> path_prices(const Graph& graph, const Traffic& traffic, Holding holding, int rounds,
                                 Picoseconds least_ps) {
  check_within(std::ssize(graph.links()), 1, std::numeric_limits<int32_t>::max(), "the links");
  check_within(rounds, 1, std::numeric_limits<int>::max(), "the rounds");
  check_within(least_ps, 0, kHorizon, "the time already known");
  return Equilibrium(graph, traffic, holding).run(rounds, least_ps);
}

}  // namespace hocket::schedule
