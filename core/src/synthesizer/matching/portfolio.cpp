#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "hocket/columns.hpp"
#include "hocket/synthesizer/matching/matching.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

/// Each is the best on some family of networks; the first are the best most often.
/// An attempt costs little, so all are tried, as the portfolio of a SAT solver does, instead of guessing the family.
constexpr Policy kPolicies[] = {
    {},
    {.on_path = true, .sample = 16},
    {.on_path = true, .sample = 64},
    {.sample = 64},
    {.clusters = false, .rarest_first = false},
    {.rarest_first = false, .sample = 1},
    {.clusters = false, .rarest_first = false, .sample = 1},
    {.patience_percent = 50},
};

/// Each has one attempt; then every second attempt is a variation, and the others are those of the first few.
constexpr uint64_t kPoliciesAgain = 4;
constexpr uint64_t kParts = 7;

/// Travel times only: what waits on a link is the search's business.
/// Shortest travel time from one rank to every rank (Dijkstra).
std::vector<Picoseconds> distances(const Network& network, int32_t from) {
  constexpr Picoseconds kFar = std::numeric_limits<Picoseconds>::max() / 2;
  std::vector<Picoseconds> distance(network.num_ranks, kFar);
  using Entry = std::pair<Picoseconds, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  queue.push({distance[from] = 0, from});
  while (!queue.empty()) {
    const auto [reached, rank] = queue.top();
    queue.pop();
    if (reached > distance[rank]) continue;
    for (int32_t link : network.out[rank]) {
      Picoseconds& next = distance[network.dst[link]];
      const Picoseconds through = add_ps(reached, network.travel[link]);
      if (through < next) queue.push({next = through, network.dst[link]});
    }
  }
  return distance;
}

}  // namespace

std::vector<uint64_t> on_shortest_path(const Network& network, std::span<const int32_t> origin) {
  const size_t words = (origin.size() + 63) / 64;
  std::vector<uint64_t> shortest(network.num_links() * words, 0);
  std::vector<std::vector<int32_t>> chunks_of(network.num_ranks);
  for (size_t chunk = 0; chunk < origin.size(); chunk++)
    chunks_of[origin[chunk]].push_back(static_cast<int32_t>(chunk));
  for (int32_t from = 0; from < network.num_ranks; from++) {
    if (chunks_of[from].empty()) continue;
    const std::vector<Picoseconds> distance = distances(network, from);
    for (int32_t link = 0; link < network.num_links(); link++) {
      // The link is tight: it ends at a distance that no other way beats.
      if (add_ps(distance[network.src[link]], network.travel[link]) > distance[network.dst[link]]) continue;
      for (int32_t chunk : chunks_of[from]) shortest[link * words + (chunk >> 6)] |= uint64_t{1} << (chunk & 63);
    }
  }
  return shortest;
}

Matcher::Matcher(const Network& network, const Demand& demand, uint64_t seed)
    : network_(network), clusters_(network), bundles_(network), demand_(demand), seed_(hash(seed)) {
  check_within(demand.sets.num_ranks(), network.num_ranks, network.num_ranks, "the ranks of the demand");
  best_.time = kNever;
}

std::optional<Transfers> Matcher::next(Stop& stop) {
  Random random(seed_ + number_);
  const bool vary = number_ >= std::size(kPolicies) && number_ % 2 != 0;
  const uint64_t turn = number_ < std::size(kPolicies) ? number_ : number_ / 2 % kPoliciesAgain;
  const Policy& policy = kPolicies[vary ? random.below(std::size(kPolicies)) : turn];
  number_++;
  if (policy.on_path && shortest_.empty()) shortest_ = on_shortest_path(network_, demand_.origin);
  const Past past = vary ? Past{&best_, settled(random)} : Past{};
  // Equally quick variations replace the best, so that the search does not circle around one schedule.
  const Picoseconds below_ps = best_.time + (vary ? 1 : 0);
  auto found = match({network_, clusters_, bundles_, demand_, shortest_}, policy, random.next(), below_ps, stop, past);
  if (!found) return std::nullopt;
  const bool quicker = found->time < best_.time;
  best_ = std::move(*found);
  return quicker ? std::optional(best_) : std::nullopt;
}

Picoseconds Matcher::settled(Random& random) const {
  // Large neighbourhood search (Shaw 1998): the end of a schedule has most room, for there few ranks still lack
  // anything; so short tails are redone as often as long ones. Somewhere in the last part of the time: all of it, a
  // half, a quarter, ...
  const Picoseconds part = best_.time >> random.below(kParts);
  return best_.time - static_cast<Picoseconds>(random.below(static_cast<uint64_t>(part) + 1));
}

}  // namespace hocket::synthesizer
