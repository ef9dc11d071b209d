#include "hocket/synthesizer/rounds.hpp"

#include <limits>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "round_search.hpp"

namespace hocket::synthesizer {
namespace {

/// Links into representatives that make it worth to meet for a thread more: tens of microseconds of work a round.
constexpr int64_t kLinksOfThread = 2048;

void require_uniform(const Network& network) {
  if (network.uniform()) return;
  throw ScheduleError("the engine `rounds` needs links that are all alike and join ranks directly; use `matching`");
}

}  // namespace

int64_t rounds_per_hop(const Network& network) {
  require_uniform(network);
  return (network.travel.front() + network.hold.front() - 1) / network.hold.front();
}

RoundTimes round_times(const Network& network, int64_t rounds_per_hop) {
  require_uniform(network);
  const Picoseconds travel = network.travel.front();
  return {rounds_per_hop == 1 ? travel : network.hold.front(), travel};
}

int64_t round_search_bytes(int64_t num_ranks, int64_t num_links, int64_t num_chunks, int64_t order,
                           int64_t rounds_per_hop) {
  const int64_t blocks = (num_chunks + ChunkBlock::kChunks - 1) / ChunkBlock::kChunks;
  const int64_t holdings = 2 * blocks * (num_ranks / order) * static_cast<int64_t>(sizeof(ChunkBlock));
  const int64_t picks = num_links / order * 4 * (RoundSearch::kWindow + rounds_per_hop + 8);
  return holdings + picks + 64 * num_links + (128 + 4 * Holdings::kLog) * num_ranks + 32 * num_chunks;
}

int32_t worthwhile_threads(const Network& network, const Orbits& orbits) {
  return static_cast<int32_t>(network.num_links() / orbits.order() / kLinksOfThread) + 1;
}

std::optional<Picoseconds> search_rounds(const Network& network, const Orbits& orbits, std::span<const int32_t> origin,
                                         const RoundOptions& options, RoundSink& sink, Stop& stop) {
  check_within(orbits.size() * orbits.order(), network.num_ranks, network.num_ranks, "the ranks in orbits");
  check_ids(origin, network.num_ranks, "the origins of chunks");
  check_within(options.rounds_per_hop, 1, kHorizon, "the rounds of a hop");
  check_within(options.threads, 1, std::numeric_limits<int32_t>::max(), "the threads");
  if (network.num_ranks == 1 || origin.empty()) return 0;
  require_uniform(network);
  return RoundSearch(network, orbits, origin, options, sink, stop).run(options.threads);
}

}  // namespace hocket::synthesizer
