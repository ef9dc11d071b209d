#include "hocket/synthesizer/symmetry/spread.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "hocket/columns.hpp"

namespace hocket::synthesizer {
namespace {

using Order = Growth::Order;

/// Each is the best on some family of networks; the first are the best most often.
constexpr Growth kGrowths[] = {
    {},
    {.order = Order::kRandom},
    {.order = Order::kRandom, .patience_percent = 50},
    {.reach = 1},
    {.order = Order::kRandom, .reach = 1},
    {.order = Order::kRandom, .patience_percent = 25, .reach = 2},
    {.order = Order::kLast},
    {.order = Order::kRandom, .patience_percent = 75},
    {.order = Order::kRandom, .patience_percent = 150},
};
constexpr uint64_t kWays = std::size(kGrowths);
/// A variation begins anew in the last 1/2^k of the time, k < kParts.
constexpr uint64_t kParts = 7;

}  // namespace

SymmetricSpread::SymmetricSpread(const Network& links, const Translations& network, int32_t chunks, uint64_t seed)
    : plan_(links, network, chunks), seed_(hash(seed)) {
  check_within(chunks, 1, std::numeric_limits<int32_t>::max() / network.num_points(), "the chunks of a rank");
  best_.time = kNever;
}

std::optional<TranslatedTransfers> SymmetricSpread::next(const Stop& stop) {
  Random random(seed_ + number_);
  const bool again = number_ >= kWays, vary = again && number_ % 2 != 0;
  Growth growth = kGrowths[vary ? random.below(kWays) : again ? number_ / 2 % kWays : number_];
  if (again) growth.order = Order::kRandom;
  number_++;
  const KeptGrowth kept = vary ? KeptGrowth{&best_, settled(random)} : KeptGrowth{};
  // Equally quick variations replace the best, so that the search does not circle around one schedule.
  auto found = grow(plan_, growth, random, best_.time + (vary ? 1 : 0), stop, kept);
  if (!found) return std::nullopt;
  const bool quicker = found->time < best_.time;
  best_ = std::move(*found);
  return quicker ? std::optional(best_) : std::nullopt;
}

Picoseconds SymmetricSpread::settled(Random& random) const {
  // As in the matching: later parts of the schedule are redone more often.
  const Picoseconds part = best_.time >> random.below(kParts);
  return best_.time - static_cast<Picoseconds>(random.below(static_cast<uint64_t>(part) + 1));
}

Transfers translate_spread(const Translations& network, int32_t chunks, const TranslatedTransfers& transfers,
                           int32_t senders) {
  const int32_t order = network.group.order();
  check_within(senders, 0, order, "the senders");
  check_within(chunks, 1, std::numeric_limits<int32_t>::max(), "the chunks");
  Transfers all;
  all.reserve(transfers.tree.size() * senders);
  for (size_t at = 0; at < transfers.tree.size(); at++) {
    const int32_t tree = transfers.tree[at], generator = transfers.generator[at], point = transfers.point[at];
    const int32_t orbit = tree / chunks, home = network.orbit_of(point) * order;
    const Picoseconds start = transfers.start[at];
    for (int32_t sender = 0; sender < senders; sender++) {
      // The tree's image that passes the sender here began where the group takes its root along.
      const int32_t origin = network.rank[orbit * order + network.group.difference(sender, point - home)];
      all.add(origin * chunks + tree % chunks, network.link_from(generator, home + sender), start,
              start + network.travel[generator]);
    }
  }
  return all;
}

}  // namespace hocket::synthesizer
