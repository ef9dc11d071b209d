#include "hocket/synthesizer/symmetric_spread.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <utility>

#include "hocket/columns.hpp"
#include "hocket/synthesizer/clusters.hpp"
#include "hocket/synthesizer/random.hpp"

namespace hocket::synthesizer {
namespace {

/// In which order a generator takes what it could carry.
enum class Order : uint8_t { kFirst, kRandom, kLast };

/// How trees grow.
struct Growth {
  Order order = Order::kFirst;
  int patience_percent = 100;  ///< a slow generator waits while fast ones are done in less than this part of its time
  int32_t reach = 0;           ///< of generators that share all resources only so many are used; 0: all
};

/// Each is the best on some family of networks; the first are the best most often.
constexpr Growth kGrowths[] = {
    {},
    {.order = Order::kRandom},
    {.reach = 1},
    {.order = Order::kRandom, .patience_percent = 50},
    {.order = Order::kRandom, .reach = 1},
    {.order = Order::kRandom, .patience_percent = 25, .reach = 2},
    {.order = Order::kLast},
    {.order = Order::kRandom, .patience_percent = 75},
    {.order = Order::kRandom, .patience_percent = 150},
};

/// Once each way was tried, chance decides in all of them.
Growth growth_of(int number) {
  constexpr int kWays = std::size(kGrowths);
  Growth growth = kGrowths[number % kWays];
  if (number >= kWays) growth.order = Order::kRandom;
  return growth;
}

/// A tree that holds its chunk at a point.
struct Spot {
  int32_t tree;
  int32_t point;
};

/// What a generator could carry, some of it in vain by now.
class Offers {
 public:
  void push(Spot spot) { spots_.push_back(spot); }
  bool empty() const { return head_ == spots_.size(); }
  Spot pop(Order order, Random& random) {
    if (order == Order::kFirst) return spots_[head_++];
    if (order == Order::kRandom) std::swap(spots_[random.below(spots_.size())], spots_.back());
    const Spot last = spots_.back();
    spots_.pop_back();
    return last;
  }

 private:
  std::vector<Spot> spots_;
  size_t head_ = 0;
};

/// What happens at a time: a generator becomes free (tree -1), or its chunk lands.
struct Event {
  Picoseconds time;
  int32_t generator;
  int32_t tree;
  int32_t point;
  auto operator<=>(const Event&) const = default;
};

/// What a generator is among others.
struct Rule {
  int32_t level;           ///< its class of speed, and the level of the clusters that it may leave
  bool bridge;             ///< whether it leaves the cluster of strictly faster ones
  int64_t faster_percent;  ///< hundredths of a chunk that faster ones deliver while it carries one
  int32_t distance;  ///< how many come before it among those with its resources: the first, the last, the second, ...
};

}  // namespace

/// What does not change from attempt to attempt.
struct SymmetricSpread::Plan {
  Plan(const Network& links, const Translations& network, int32_t chunks, uint64_t seed)
      : network(network), chunks(chunks), seed(seed), clusters(links), leaving(network.num_orbits) {
    std::map<std::vector<int32_t>, std::vector<int32_t>> sharing;
    std::map<Picoseconds, std::vector<int32_t>> by_travel;
    for (int32_t generator = 0; generator < network.num_generators(); generator++) {
      const auto resources = network.resources[generator];
      sharing[{resources.begin(), resources.end()}].push_back(generator);
      by_travel[network.travel[generator]].push_back(generator);
      leaving[network.orbit[generator]].push_back(generator);
      const int32_t link = network.link_from(generator, 0);
      rules.push_back({clusters.link_class[link], clusters.bridge(links, link), clusters.faster_percent[link], 0});
    }
    for (auto& [travel, generators] : by_travel) speeds.push_back(std::move(generators));
    for (const auto& [resources, generators] : sharing) {
      const size_t count = generators.size();
      for (size_t at = 0; at < count; at++) {
        rules[generators[at]].distance = static_cast<int32_t>(std::min(2 * at, 2 * (count - 1 - at) + 1));
      }
    }
  }

  const Translations& network;
  const int32_t chunks;
  const uint64_t seed;
  const Clusters clusters;
  std::vector<std::vector<int32_t>> leaving;  ///< generators of each orbit
  std::vector<std::vector<int32_t>> speeds;   ///< generators of equal travel times, fast ones first
  std::vector<Rule> rules;                    ///< of each generator
};

/// One attempt.
class SymmetricSpread::Run {
 public:
  Run(const Plan& plan, int number, Picoseconds below, const Stop& stop)
      : plan_(plan),
        network_(plan.network),
        clusters_(plan.clusters),
        growth_(growth_of(number)),
        random_(hash(plan.seed) + number),
        below_(below),
        stop_(stop),
        num_trees_(network_.num_orbits * plan.chunks),
        missing_(network_.num_orbits, int64_t{num_trees_} * network_.group.order()),
        remaining_(int64_t{num_trees_} * network_.num_points()),
        busy_(network_.num_resources, 0),
        offers_(network_.num_generators()),
        spare_(network_.num_generators()) {
    for (int32_t level = 0; level + 1 < clusters_.num_levels(); level++) {
      seen_.emplace_back(static_cast<size_t>(num_trees_) * clusters_.num_clusters[level], 0);
    }
    for (int32_t tree = 0; tree < num_trees_; tree++) {
      const Spot root{tree, tree / plan.chunks * network_.group.order()};
      promise(root);
      offer(root);
    }
  }

  std::optional<TranslatedTransfers> solve() {
    while (remaining_ > 0 && result_.time < below_) {
      start_all();
      if (events_.empty()) {
        if (forced_) throw_stuck();
        forced_ = true;
      } else {
        forced_ = false;
        advance();
      }
    }
    if (result_.time >= below_) return std::nullopt;
    return std::move(result_);
  }

 private:
  uint8_t& seen(int32_t level, Spot spot) {
    const size_t cluster = clusters_.cluster[level][network_.rank[spot.point]];
    return seen_[level][static_cast<size_t>(spot.tree) * clusters_.num_clusters[level] + cluster];
  }

  /// From now on the tree counts as being at the point: it is there, or on its way.
  void promise(Spot spot) {
    for (size_t level = 0; level < seen_.size(); level++) seen(static_cast<int32_t>(level), spot) = 1;
    missing_[network_.orbit_of(spot.point)]--;
    remaining_--;
  }

  void offer(Spot spot) {
    for (int32_t generator : plan_.leaving[network_.orbit_of(spot.point)]) offers_[generator].push(spot);
  }

  void start_all() {
    for (const std::vector<int32_t>& generators : plan_.speeds) {
      const size_t first = growth_.order == Order::kRandom ? random_.below(generators.size()) : 0;
      for (size_t at = 0; at < generators.size(); at++) {
        const int32_t generator =
            generators[first + at < generators.size() ? first + at : first + at - generators.size()];
        if (free(generator)) start(generator);
      }
    }
  }

  bool free(int32_t generator) const {
    if (growth_.reach > 0 && plan_.rules[generator].distance >= growth_.reach && !forced_) return false;
    return std::ranges::none_of(network_.resources[generator], [&](int32_t resource) { return busy_[resource]; });
  }

  void start(int32_t generator) {
    const Rule& rule = plan_.rules[generator];
    const int64_t left = missing_[network_.orbit_of(network_.target_from(generator, 0))];
    const bool patient = !forced_ && static_cast<__int128>(left) * 10'000 <
                                         static_cast<__int128>(rule.faster_percent) * growth_.patience_percent;
    Spot from;
    if (rule.bridge && take(generator, offers_[generator], rule.level, from)) return carry(generator, from);
    if (!patient && take(generator, rule.bridge ? spare_[generator] : offers_[generator], 0, from)) {
      carry(generator, from);
    }
  }

  /// Finds a spot whose tree lacks the cluster (of a level) where the generator leads. What it lacks at level 0 only is
  /// spared for later.
  bool take(int32_t generator, Offers& offers, int32_t level, Spot& from) {
    while (!offers.empty()) {
      from = offers.pop(growth_.order, random_);
      const Spot to{from.tree, network_.target_from(generator, from.point)};
      if (seen(0, to)) continue;
      if (!seen(level, to)) return true;
      spare_[generator].push(from);
    }
    return false;
  }

  void carry(int32_t generator, Spot from) {
    const Spot to{from.tree, network_.target_from(generator, from.point)};
    const Picoseconds freed = add_ps(now_, network_.hold[generator]), landed = add_ps(now_, network_.travel[generator]);
    promise(to);
    for (int32_t resource : network_.resources[generator]) busy_[resource] = 1;
    events_.push({freed, generator, -1, -1});
    events_.push({within_horizon(landed), generator, to.tree, to.point});
    result_.add(from.tree, generator, from.point, now_, landed);
  }

  void advance() {
    stop_.check();
    now_ = events_.top().time;
    while (!events_.empty() && events_.top().time == now_) {
      const Event event = events_.top();
      events_.pop();
      if (event.tree >= 0) {
        offer({event.tree, event.point});
      } else {
        for (int32_t resource : network_.resources[event.generator]) busy_[resource] = 0;
      }
    }
  }

  [[noreturn]] void throw_stuck() {
    for (int32_t tree = 0;; tree++) {
      const int32_t root = tree / plan_.chunks * network_.group.order();
      for (int32_t point = 0; point < network_.num_points(); point++) {
        if (!seen(0, {tree, point})) throw_unreachable(tree, network_.rank[root], network_.rank[point]);
      }
    }
  }

  const Plan& plan_;
  const Translations& network_;
  const Clusters& clusters_;
  const Growth growth_;
  Random random_;
  const Picoseconds below_;
  const Stop& stop_;
  const int32_t num_trees_;
  std::vector<std::vector<uint8_t>> seen_;  ///< [level][tree, cluster] whether the tree is in the cluster
  std::vector<int64_t> missing_;            ///< [orbit] pairs of tree and point of the orbit that are not together
  int64_t remaining_;
  std::vector<uint8_t> busy_;   ///< [resource]
  std::vector<Offers> offers_;  ///< [generator]
  std::vector<Offers> spare_;   ///< [generator] what a bridge left out because the tree was in its cluster already
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  TranslatedTransfers result_;
  Picoseconds now_ = 0;
  bool forced_ = false;
};

SymmetricSpread::SymmetricSpread(const Network& links, const Translations& network, int32_t chunks, uint64_t seed)
    : plan_(std::make_unique<Plan>(links, network, chunks, seed)) {
  const int64_t most = std::numeric_limits<int32_t>::max() / network.num_points();
  check_within(chunks, 1, most, "the chunks of a rank");
}

SymmetricSpread::~SymmetricSpread() = default;

std::optional<TranslatedTransfers> SymmetricSpread::attempt(int number, Picoseconds below, const Stop& stop) const {
  check_within(number, 0, std::numeric_limits<int>::max(), "the number of an attempt");
  return Run(*plan_, number, below, stop).solve();
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
      const int32_t origin = network.rank[orbit * order + network.group.difference(sender, point - home)];
      all.add(origin * chunks + tree % chunks, network.link_from(generator, home + sender), start,
              start + network.travel[generator]);
    }
  }
  return all;
}

}  // namespace hocket::synthesizer
