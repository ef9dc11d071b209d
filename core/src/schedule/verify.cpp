#include "hocket/schedule/verify.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "hocket/schedule/link_use.hpp"
#include "replay.hpp"

namespace hocket::schedule {
namespace {

/// How much of each link's time is used, by transfers that come by start.
LinkBusy check_links(const Transfers& transfers, const Conditions& conditions, bool timed, bool blocking) {
  const RouteCost cost(transfers);
  LinkUse use(transfers, blocking);
  LinkBusy busy(transfers.graph->links().size());
  for (int64_t id = 0; id < transfers.size(); id++) {
    const int32_t route = transfers.route[id];
    const int64_t bytes = conditions.chunk_bytes[transfers.chunk[id]];
    const Picoseconds hold = cost.hold(route, bytes, blocking), duration = cost.duration(route, bytes);
    if (timed && transfers.finish[id] - transfers.start[id] < duration) {
      throw ScheduleError(transfers.describe(id) + " is too short: latency and serialization take " +
                          std::to_string(duration) + " ps");
    }
    if (hold == 0) continue;
    for (int64_t hop = transfers.route_offset[route]; hop < transfers.route_offset[route + 1]; hop++) {
      const int32_t link = transfers.route_links[hop];
      if (timed && use.room(hop, transfers.start[id]) > transfers.start[id]) {
        throw ScheduleError(transfers.describe(id) + " starts on link " + std::to_string(link) + ", which " +
                            transfers.describe(use.last(link)) + " holds until " + std::to_string(use.free(link)));
      }
      busy[link] = add_ps(busy[link], use.share(hop, hold));
      if (timed) use.take(hop, transfers.start[id], hold, id);
    }
  }
  return busy;
}

/// Replays one chunk after the other; what a rank holds of the chunk is a set of contributions. A relay holds none in
/// the beginning, and may hold any in the end.
///
/// Exact, not sampled: where chunks are summed a holder has a bit for every rank, else one bit. What a transfer brings
/// is what its source held at its start, kept until its finish (`sent_`).
class DataFlow {
 public:
  DataFlow(const Transfers& transfers, const Conditions& conditions)
      : transfers_(transfers),
        conditions_(conditions),
        num_ranks_(conditions.ranks.size()),
        sums_(std::ranges::any_of(conditions.origin, [](int32_t origin) { return origin < 0; })),
        words_(sums_ ? (num_ranks_ + 63) / 64 : 1),
        num_holders_(num_ranks_ + conditions.relays.size()),
        full_(words_),
        held_(num_holders_ * words_),
        contributes_(num_holders_),
        copied_(num_holders_),
        delivered_(num_holders_),
        holder_of_(transfers.graph->num_nodes(), -1) {
    auto holder = static_cast<int32_t>(num_ranks_);
    for (const int32_t node : conditions.relays) holder_of_.at(node) = holder++;
    for (size_t rank = 0; rank < num_ranks_; rank++) holder_of_[conditions.ranks[rank]] = static_cast<int32_t>(rank);
    for (int64_t id = 0; id < transfers.size(); id++) {
      for (const int32_t end : {transfers.src(id), transfers.dst(id)}) {
        if (holder_of_[end] < 0) {
          throw ScheduleError(transfers.describe(id) + ": rank " + std::to_string(end) +
                              " is not in the group, and no relay");
        }
      }
    }
  }

  void check() {
    const ChunkIndex index(transfers_);
    std::vector<int32_t> slot(transfers_.size());  // position of a transfer among those of its chunk
    for (int64_t chunk = 0; chunk < transfers_.num_chunks; chunk++) {
      const auto ids = index.of(chunk);
      for (size_t at = 0; at < ids.size(); at++) slot[ids[at]] = static_cast<int32_t>(at);
      if (sent_.size() < ids.size() * words_) sent_.resize(ids.size() * words_);
      begin(chunk);
      replay_.run(
          ids, transfers_.start, transfers_.finish, [&](int32_t id) { send(id, sent_.data() + slot[id] * words_); },
          [&](int32_t id) { deliver(id, sent_.data() + slot[id] * words_); });
      if (conditions_.sent[chunk]) end(chunk);
    }
  }

 private:
  uint64_t* held(int64_t holder) { return held_.data() + holder * words_; }

  /// Where a set of contributions has that of a rank; where nothing is summed there is only one.
  size_t bit(int32_t rank) const { return sums_ ? rank : 0; }

  /// The state is one chunk's, refilled for each: memory does not grow with the number of chunks.
  void begin(int64_t chunk) {
    std::ranges::fill(held_, 0);
    std::ranges::fill(full_, 0);
    std::ranges::fill(delivered_, 0);
    contributes_.assign(num_holders_, false);
    for (const int32_t rank : conditions_.sets.of(conditions_.origin[chunk])) {
      const uint64_t contribution = 1ull << (bit(rank) % 64);
      held(rank)[bit(rank) / 64] |= contribution;
      full_[bit(rank) / 64] |= contribution;
      contributes_[rank] = true;
    }
  }

  void send(int32_t id, uint64_t* snapshot) {
    const int32_t from = holder_of_[transfers_.src(id)];
    if (transfers_.is_own(id)) {
      if (!contributes_[from]) {
        throw ScheduleError(transfers_.describe(id) + ": " + transfers_.name(transfers_.src(id)) +
                            " sends its own contribution to the chunk, and has none");
      }
      std::fill(snapshot, snapshot + words_, uint64_t{0});
      snapshot[bit(from) / 64] = 1ull << (bit(from) % 64);
      return;
    }
    const uint64_t* source = held(from);
    if (std::all_of(source, source + words_, [](uint64_t word) { return word == 0; })) {
      throw ScheduleError(transfers_.describe(id) + ": " + transfers_.name(transfers_.src(id)) +
                          " does not hold the chunk when it sends it");
    }
    std::copy(source, source + words_, snapshot);
  }

  void deliver(int32_t id, const uint64_t* snapshot) {
    const int32_t at = holder_of_[transfers_.dst(id)];
    uint64_t* target = held(at);
    const bool copy = !transfers_.reduce[id];
    // At one instant sums in any order come to the same, a copy among them does not.
    if (delivered_[at] == transfers_.finish[id] && (copy || copied_[at])) {
      throw ScheduleError(transfers_.describe(id) +
                          ": another transfer of the chunk arrives at the same instant and one of them overwrites it");
    }
    delivered_[at] = transfers_.finish[id];
    copied_[at] = copy;
    if (copy) {
      std::copy(snapshot, snapshot + words_, target);
      return;
    }
    if (!conditions_.reducing(transfers_.chunk[id])) {
      throw ScheduleError(transfers_.describe(id) + " reduces, but its collective does not");
    }
    for (size_t word = 0; word < words_; word++) {
      if (const uint64_t twice = target[word] & snapshot[word]; twice != 0) {
        throw ScheduleError(transfers_.describe(id) + " adds the contribution of rank " +
                            std::to_string(conditions_.ranks[word * 64 + std::countr_zero(twice)]) + " a second time");
      }
      target[word] |= snapshot[word];
    }
  }

  void end(int64_t chunk) {
    for (const int32_t rank : conditions_.sets.of(conditions_.destination[chunk])) {
      for (size_t word = 0; word < words_; word++) {
        const uint64_t missing = full_[word] & ~held(rank)[word];
        if (missing == 0) continue;
        const std::string who = "rank " + std::to_string(conditions_.ranks[rank]);
        const std::string what = "chunk " + std::to_string(chunk);
        if (!conditions_.reducing(chunk))
          throw ScheduleError(who + " must hold " + what + " at the end, but never gets it");
        throw ScheduleError(who + " must hold the sum of " + what +
                            " at the end, but misses the contribution of rank " +
                            std::to_string(conditions_.ranks[word * 64 + std::countr_zero(missing)]));
      }
    }
  }

  const Transfers& transfers_;
  const Conditions& conditions_;
  const size_t num_ranks_;
  const bool sums_;
  const size_t words_, num_holders_;
  std::vector<uint64_t> full_, held_, sent_;
  std::vector<bool> contributes_, copied_;
  std::vector<Picoseconds> delivered_;
  std::vector<int32_t> holder_of_;  // of each node: position in `held_`; ranks of the group, then relays; -1: none
  ChunkReplay replay_;
};

}  // namespace

LinkBusy verify(const Transfers& transfers, const Conditions& conditions, bool timed, bool blocking) {
  const auto num_chunks = static_cast<size_t>(transfers.num_chunks);
  check_ids(conditions.ranks, transfers.graph->num_ranks(), "the group");
  check_ids(conditions.relays, transfers.graph->num_nodes(), "the relays");
  check_size(conditions.ranks.size(), conditions.sets.num_ranks(), "the group");
  check_size(conditions.origin.size(), num_chunks, "the origins of chunks");
  check_size(conditions.destination.size(), num_chunks, "the destinations of chunks");
  check_size(conditions.chunk_bytes.size(), num_chunks, "the bytes of chunks");
  check_size(conditions.sent.size(), num_chunks, "which chunks are sent");
  check_within(conditions.chunk_bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of chunks");
  conditions.sets.check(conditions.origin, "the origin");
  conditions.sets.check(conditions.destination, "the destination");
  DataFlow(transfers, conditions).check();
  return check_links(transfers, conditions, timed, blocking);
}

}  // namespace hocket::schedule
