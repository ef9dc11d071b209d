#include "hocket/synthesizer/symmetry/exchange.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"

namespace hocket::synthesizer {
namespace {

/// What happens at a time: a generator becomes free (job -1), or a job arrives at its next point.
struct Event {
  Picoseconds time;
  int32_t generator;
  int32_t job;
  auto operator<=>(const Event&) const = default;
};

struct Job {
  Way way;              ///< that is left
  Picoseconds left;     ///< travel time of it
  int32_t point = 0;    ///< where it is
  int32_t version = 0;  ///< how often it moved; odd while it flies
};

/// That a job waits for a generator. Out of date when the job has moved since.
struct Waiting {
  Picoseconds left;
  int32_t job;
  int32_t version;
  /// The longest first, of equals the first.
  bool operator<(const Waiting& other) const { return std::tie(left, other.job) < std::tie(other.left, job); }
};

/// List scheduling for an open shop: the order of a job's steps is free, as shifts commute. Its bounds are the busiest
/// machine's work and the longest job; where the ways balance the machines the schedule comes close to the first.
class Shop {
 public:
  Shop(const Translations& network, int32_t chunks, const Stop& stop)
      : network_(network),
        chunks_(chunks),
        stop_(stop),
        waiting_(network.num_generators()),
        busy_(network.num_resources, 0),
        load_(network.num_resources, 0),
        ahead_(network.num_generators(), 0) {
    for (Way& way : balanced_ways(network, chunks, stop)) {
      Picoseconds left = 0;
      for (const auto& [generator, times] : way.steps) {
        left += times * network.travel[generator];
        account(generator, times);
      }
      jobs_.push_back({std::move(way), left});
    }
    for (int32_t job = 0; job < static_cast<int32_t>(jobs_.size()); job++) enqueue(job);
  }

  TranslatedTransfers solve() {
    while (true) {
      start_all();
      if (events_.empty()) return std::move(result_);
      advance();
    }
  }

 private:
  void account(int32_t generator, int32_t times) {
    ahead_[generator] += times * network_.hold[generator];
    for (int32_t resource : network_.resources[generator]) load_[resource] += times * network_.hold[generator];
  }

  void enqueue(int32_t job) {
    for (const auto& [generator, times] : jobs_[job].way.steps) {
      // With every machine that it still needs; the one that takes it makes the other entries out of date by its
      // version.
      waiting_[generator].push({jobs_[job].left, job, jobs_[job].version});
    }
  }

  bool free(int32_t generator) const {
    return std::ranges::none_of(network_.resources[generator], [&](int32_t resource) { return busy_[resource]; });
  }

  /// How much work is ahead of a generator's most loaded resource, then of itself.
  std::pair<Picoseconds, Picoseconds> urgency(int32_t generator) const {
    Picoseconds most = 0;
    for (int32_t resource : network_.resources[generator]) most = std::max(most, load_[resource]);
    return {most, ahead_[generator]};
  }

  void start_all() {
    std::vector<std::pair<std::pair<Picoseconds, Picoseconds>, int32_t>> order;
    for (int32_t generator = 0; generator < network_.num_generators(); generator++) {
      if (!waiting_[generator].empty() && free(generator)) order.push_back({urgency(generator), -generator});
    }
    std::ranges::sort(order, std::greater<>());
    for (const auto& [urgency, negated] : order) {
      if (free(-negated)) start(-negated);
    }
  }

  void start(int32_t generator) {
    auto& waiting = waiting_[generator];
    while (!waiting.empty() && jobs_[waiting.top().job].version != waiting.top().version) waiting.pop();
    if (waiting.empty()) return;
    const int32_t id = waiting.top().job;
    waiting.pop();
    Job& job = jobs_[id];
    const Picoseconds landed = within_horizon(add_ps(now_, network_.travel[generator]));
    // Jobs begin at shift 1; tree ids count from the rank itself.
    result_.add(id + chunks_, generator, job.point, now_, landed);
    job.version++;
    job.left -= network_.travel[generator];
    job.point = network_.target_from(generator, job.point);
    const auto step = std::ranges::find(job.way.steps, generator, &Way::Step::generator);
    if (--step->times == 0) job.way.steps.erase(step);
    account(generator, -1);
    for (int32_t resource : network_.resources[generator]) busy_[resource] = 1;
    events_.push({add_ps(now_, network_.hold[generator]), generator, -1});
    if (!job.way.steps.empty()) events_.push({landed, generator, id});
  }

  void advance() {
    stop_.check();
    now_ = events_.top().time;
    while (!events_.empty() && events_.top().time == now_) {
      const Event event = events_.top();
      events_.pop();
      if (event.job >= 0) {
        jobs_[event.job].version++;
        enqueue(event.job);
      } else {
        for (int32_t resource : network_.resources[event.generator]) busy_[resource] = 0;
      }
    }
  }

  const Translations& network_;
  const int32_t chunks_;
  const Stop& stop_;
  std::vector<Job> jobs_;
  std::vector<std::priority_queue<Waiting>> waiting_;  ///< of each generator
  std::vector<uint8_t> busy_;                          ///< of each resource
  std::vector<Picoseconds> load_, ahead_;              ///< work ahead of each resource, of each generator
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  TranslatedTransfers result_;
  Picoseconds now_ = 0;
};

}  // namespace

TranslatedTransfers exchange(const Translations& network, int32_t chunks, const Stop& stop) {
  const int64_t pairs = int64_t{network.num_points()} * network.num_points();
  check_within(chunks, 1, std::numeric_limits<int32_t>::max() / pairs, "the chunks of a pair of ranks");
  check_within(network.num_orbits, 1, 1, "the orbits of the ranks");
  if (!network.connected()) throw Infeasible("links that are alike do not lead from every rank to every other");
  return Shop(network, chunks, stop).solve();
}

Transfers translate_exchange(const Translations& network, int32_t chunks, const TranslatedTransfers& transfers,
                             int32_t senders) {
  const int32_t order = network.group.order();
  check_within(senders, 0, order, "the senders");
  check_within(chunks, 1, std::numeric_limits<int32_t>::max(), "the chunks");
  Transfers all;
  all.reserve(transfers.tree.size() * senders);
  for (size_t at = 0; at < transfers.tree.size(); at++) {
    const int32_t shift = transfers.tree[at] / chunks, generator = transfers.generator[at];
    const Picoseconds start = transfers.start[at], finish = start + network.travel[generator];
    for (int32_t sender = 0; sender < senders; sender++) {
      // The image in which the sending point is this sender; origin and destination move with it.
      const int32_t element = network.group.difference(sender, transfers.point[at]);
      const int64_t pair = int64_t{network.rank[element]} * order + network.rank[network.group.sum(shift, element)];
      all.add(static_cast<int32_t>(pair * chunks + transfers.tree[at] % chunks), network.link_from(generator, sender),
              start, finish);
    }
  }
  return all;
}

}  // namespace hocket::synthesizer
