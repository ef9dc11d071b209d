#include "hocket/schedule/bounds/path.hpp"

#include <algorithm>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "pricing.hpp"

namespace hocket::schedule {

Picoseconds path_bound(const topology::Graph& graph, const Traffic& traffic, Holding holding,
                       std::span<const int64_t> prices, Picoseconds least_ps) {
  check_size(prices.size(), graph.links().size(), "the prices of links");
  check_within(prices, 0, int64_t{1} << kPriceBits, "the prices of links");
  if (std::ranges::count(prices, 0) == std::ssize(prices)) throw ScheduleError("all prices are 0: they prove nothing");
  check_within(least_ps, 0, kHorizon, "the time already known");
  return Pricing(graph, traffic, holding).bound(prices, least_ps);
}

}  // namespace hocket::schedule
