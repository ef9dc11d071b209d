#include "hocket/synthesizer/symmetry/growth.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace hocket::synthesizer {
namespace {

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
  Spot pop(Growth::Order order, Random& random) {
    if (order == Growth::Order::kFirst) return spots_[head_++];
    if (order == Growth::Order::kRandom) std::swap(spots_[random.below(spots_.size())], spots_.back());
    const Spot last = spots_.back();
    spots_.pop_back();
    return last;
  }

 private:
  std::vector<Spot> spots_;
  size_t head_ = 0;
};

/// What happens at a time: a generator becomes free, a chunk lands (tree -1: none), or both.
struct Event {
  Picoseconds time;
  int32_t generator;
  bool frees;
  int32_t tree;
  int32_t point;
  auto operator<=>(const Event&) const = default;
};

/// As the matching's `Run`, for one tree an orbit and chunk in place of all chunks, and generators in place of links.
/// What one tree does, its images do at the same time, and no two meet: a generator's links share no physical link.
///
/// Invariant: a pair of tree and point is promised once, and offered to each generator once, when it has landed.
class Run {
 public:
  Run(const GrowthPlan& plan, const Growth& growth, const Random& random, Picoseconds below, const Stop& stop,
      const KeptGrowth& kept)
      : plan_(plan),
        network_(plan.network),
        growth_(growth),
        random_(random),
        below_(below),
        stop_(stop),
        kept_(kept),
        num_trees_(network_.num_orbits * plan.chunks),
        missing_(network_.num_orbits, int64_t{num_trees_} * network_.group.order()),
        remaining_(int64_t{num_trees_} * network_.num_points()),
        held_(remaining_, 0),
        busy_(network_.num_resources, 0),
        offers_(network_.num_generators()),
        spare_(network_.num_generators()) {
    for (const PointClusters& level : plan.levels)
      seen_.emplace_back(static_cast<size_t>(num_trees_) * level.number, 0);
    result_.reserve(remaining_);
    for (int32_t tree = 0; tree < num_trees_; tree++) {
      const int32_t orbit = tree / plan.chunks;
      const Spot root{tree, orbit * network_.group.order()};
      promise(root, orbit);
      offer(root, orbit);
    }
  }

  std::optional<TranslatedTransfers> solve() {
    while (remaining_ > 0 && result_.time < below_) {
      if (!repeat()) start_all();
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
  uint8_t& held(Spot spot) { return held_[static_cast<size_t>(spot.tree) * network_.num_points() + spot.point]; }

  /// Whether the tree is in the point's cluster. At level 0 the point is alone.
  uint8_t& seen(int32_t level, Spot spot) {
    if (level == 0) return held(spot);
    const PointClusters& clusters = plan_.levels[level - 1];
    return seen_[level - 1][static_cast<size_t>(spot.tree) * clusters.number + clusters.of[spot.point]];
  }

  /// From now on the tree counts as being at the point: it is there, or on its way.
  void promise(Spot spot, int32_t orbit) {
    for (size_t level = 0; level <= seen_.size(); level++) seen(static_cast<int32_t>(level), spot) = 1;
    missing_[orbit]--;
    remaining_--;
  }

  void offer(Spot spot, int32_t orbit) {
    for (int32_t generator : plan_.leaving[orbit]) {
      if (!held({spot.tree, network_.target_from(generator, spot.point)})) offers_[generator].push(spot);
    }
  }

  /// Does what the kept attempt did now; false when nothing more is kept.
  bool repeat() {
    if (kept_.transfers == nullptr) return false;
    const TranslatedTransfers& kept = *kept_.transfers;
    while (num_repeated_ < kept.tree.size() && kept.start[num_repeated_] == now_ && now_ < kept_.until) {
      carry(kept.generator[num_repeated_], {kept.tree[num_repeated_], kept.point[num_repeated_]});
      num_repeated_++;
    }
    return num_repeated_ < kept.tree.size() && kept.start[num_repeated_] < kept_.until;
  }

  void start_all() {
    for (const std::vector<int32_t>& generators : plan_.speeds) {
      const size_t first = growth_.order == Growth::Order::kRandom ? random_.below(generators.size()) : 0;
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
    const GeneratorRule& rule = plan_.rules[generator];
    const int64_t left = missing_[rule.target_orbit];
    const bool patient = !forced_ && static_cast<__int128>(left) * 10'000 <
                                         static_cast<__int128>(rule.faster_percent) * growth_.patience_percent;
    Spot from;
    // First what opens a new cluster, at any time; what only repeats a tree in a cluster, when that is worth the wait.
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
      if (held(to)) continue;
      if (!seen(level, to)) return true;
      spare_[generator].push(from);
    }
    return false;
  }

  void carry(int32_t generator, Spot from) {
    const Spot to{from.tree, network_.target_from(generator, from.point)};
    const Picoseconds freed = add_ps(now_, network_.hold[generator]), landed = add_ps(now_, network_.travel[generator]);
    promise(to, plan_.rules[generator].target_orbit);
    for (int32_t resource : network_.resources[generator]) busy_[resource] = 1;
    if (freed < landed) events_.push({freed, generator, true, -1, -1});
    events_.push({within_horizon(landed), generator, freed == landed, to.tree, to.point});
    result_.add(from.tree, generator, from.point, now_, landed);
  }

  void advance() {
    stop_.check();
    now_ = events_.top().time;
    while (!events_.empty() && events_.top().time == now_) {
      const Event event = events_.top();
      events_.pop();
      if (event.tree >= 0) offer({event.tree, event.point}, plan_.rules[event.generator].target_orbit);
      if (!event.frees) continue;
      for (int32_t resource : network_.resources[event.generator]) busy_[resource] = 0;
    }
  }

  [[noreturn]] void throw_stuck() {
    for (int32_t tree = 0;; tree++) {
      const int32_t root = tree / plan_.chunks * network_.group.order();
      for (int32_t point = 0; point < network_.num_points(); point++) {
        if (!held({tree, point})) throw_unreachable(tree, network_.rank[root], network_.rank[point]);
      }
    }
  }

  const GrowthPlan& plan_;
  const Translations& network_;
  const Growth growth_;
  Random random_;
  const Picoseconds below_;
  const Stop& stop_;
  const KeptGrowth kept_;
  const int32_t num_trees_;
  std::vector<int64_t> missing_;  ///< [orbit] pairs of tree and point of the orbit that are not together
  int64_t remaining_;
  std::vector<uint8_t> held_;               ///< [tree, point]
  std::vector<std::vector<uint8_t>> seen_;  ///< [level - 1][tree, cluster]
  std::vector<uint8_t> busy_;               ///< [resource]
  std::vector<Offers> offers_;              ///< [generator]
  // Nothing is lost: what a bridge passes over is kept for when its cluster rule no longer applies.
  std::vector<Offers> spare_;  ///< [generator] what a bridge left out: the tree was in its cluster already
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  TranslatedTransfers result_;
  size_t num_repeated_ = 0;
  Picoseconds now_ = 0;
  bool forced_ = false;
};

}  // namespace

std::optional<TranslatedTransfers> grow(const GrowthPlan& plan, const Growth& growth, Random random, Picoseconds below,
                                        const Stop& stop, const KeptGrowth& kept) {
  return Run(plan, growth, random, below, stop, kept).solve();
}

}  // namespace hocket::synthesizer
