#include "hocket/synthesizer/rounds/rounds.hpp"

#include "hocket/error.hpp"
#include "hocket/synthesizer/rounds/search.hpp"

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
  // One round a hop may be as long as the travel time: in between no chunk could start that arrives earlier.
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

}  // namespace hocket::synthesizer
