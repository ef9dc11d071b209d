#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hocket/synthesizer/clusters.hpp"
#include "hocket/synthesizer/matching/bundles.hpp"
#include "hocket/synthesizer/matching/demand.hpp"
#include "hocket/synthesizer/network.hpp"
#include "hocket/synthesizer/random.hpp"
#include "hocket/synthesizer/stop.hpp"

namespace hocket::synthesizer {

/// How a free link chooses among the chunks it could carry.
struct Policy {
  bool clusters = true;        ///< a slow link into a cluster carries only chunks that the cluster lacks
  bool rarest_first = true;    ///< chunks that fewest clusters hold come first, then those with fewest holders nearby
  bool on_path = false;        ///< chunks that are on a shortest path from their origin come first
  int sample = 8;              ///< how many candidates are compared; 1 takes a random one
  int patience_percent = 100;  ///< a slow link waits while the fast ones are done in less than this part of its time
};

/// For every link the chunks that are on a shortest path from their origin when they take it: a bit a chunk.
std::vector<uint64_t> on_shortest_path(const Network& network, std::span<const int32_t> origin);

/// What a matching is about.
struct Task {
  const Network& network;
  const Clusters& clusters;
  const Bundles& bundles;
  const Demand& demand;
  std::span<const uint64_t> shortest;  ///< empty or what on_shortest_path gives
};

/// What is settled: all that `transfers` start before `until`.
/// Large neighbourhood search keeps a prefix of a schedule: what has started has its effects at the same times again.
struct Past {
  const Transfers* transfers = nullptr;
  Picoseconds until = 0;
};

/// Brings every chunk from its origin to all ranks that want it by matching over the time-expanded network: whenever
/// links are free, each takes a chunk that its source holds and its destination wants, or is to pass on (plan_relays),
/// and neither holds nor is about to receive.
///
/// Nothing when that takes `below_ps` or longer. Deterministic for a seed. Throws Infeasible when a rank cannot be
/// reached, Stopped when asked to stop.
///
/// The idea is TACOS' (Won et al., MICRO 2024): a greedy matching of chunks to links, event by event. Three things are
/// different. A chunk counts as promised to a rank once it is on its way, so no slow link sends again what a fast one
/// is delivering. A source must hold the chunk when the transfer starts: where links differ, public TACOS hands a
/// finished transfer a chunk that its source got after the start, and so claims times that no replay of its orders
/// reaches. And a choice is not only random: see Policy.
///
/// Invariant: the chunks held, on their way and lacked of a rank are disjoint, and together they are all that it is to
/// have; so every transfer is of use when it starts, and there are at most as many as pairs of rank and chunk.
std::optional<Transfers> match(const Task& task, const Policy& policy, uint64_t seed, Picoseconds below_ps, Stop& stop,
                               const Past& past = {});

/// A search by matching that goes on as long as it is asked to: first a portfolio of policies, then variations of the
/// best schedule so far, which keep what it did up to some time and choose anew from there. The network and the
/// demand must outlive it.
/// An anytime search: each attempt is abandoned once it cannot be quicker than the best (`below_ps`), so attempts
/// become cheaper as the best improves, and the caller stops when time is up or the lower bound is met.
class Matcher {
 public:
  Matcher(const Network& network, const Demand& demand, uint64_t seed);

  /// The next attempt, when it is quicker than all before. Throws as match() does.
  std::optional<Transfers> next(Stop& stop);

 private:
  /// A time up to which a variation keeps the best schedule.
  Picoseconds settled(Random& random) const;

  const Network& network_;
  Clusters clusters_;
  Bundles bundles_;
  const Demand& demand_;
  uint64_t seed_;
  uint64_t number_ = 0;  // of the next attempt
  Transfers best_;
  std::vector<uint64_t> shortest_;  // once a policy asks for it
};

}  // namespace hocket::synthesizer
