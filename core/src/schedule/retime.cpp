#include "hocket/schedule/retime.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "hocket/schedule/dependencies.hpp"
#include "hocket/schedule/link_use.hpp"
#include "hocket/splitmix.hpp"
#include "replay.hpp"

namespace hocket::schedule {
namespace {

/// What a schedule comes to at some times, in hashes: of each transfer the contributions that it sends, and of each
/// chunk those that its ranks have in the end.
struct Contents {
  std::vector<uint64_t> sent, kept;
};

/// A sum of mixed ranks, so that the order in which contributions come does not count, as it does not for a sum.
Contents contents(const Transfers& transfers, std::span<const Picoseconds> start, std::span<const Picoseconds> finish) {
  const auto own = [&](int32_t node) -> uint64_t {
    return transfers.graph->is_switch(node) ? 0 : splitmix64(node + 1);
  };
  std::vector<uint64_t> sent(transfers.size()), kept(transfers.num_chunks), held(transfers.graph->num_nodes());
  std::vector<bool> counted(transfers.graph->num_nodes());
  const ChunkIndex index(transfers);
  ChunkReplay replay;
  for (int64_t chunk = 0; chunk < transfers.num_chunks; chunk++) {
    const auto ids = index.of(chunk);
    for (const int32_t id : ids) {
      for (const int32_t node : {transfers.src(id), transfers.dst(id)}) held[node] = own(node);
      counted[transfers.dst(id)] = false;
    }
    replay.run(
        ids, start, finish,
        [&](int32_t id) { sent[id] = transfers.is_own(id) ? own(transfers.src(id)) : held[transfers.src(id)]; },
        [&](int32_t id) {
          uint64_t& at = held[transfers.dst(id)];
          at = (transfers.reduce[id] ? at : 0) + sent[id];
        });
    for (const int32_t id : ids) {
      const int32_t rank = transfers.dst(id);
      if (!counted[rank]) kept[chunk] += splitmix64(held[rank] ^ own(rank));
      counted[rank] = true;
    }
  }
  return {std::move(sent), std::move(kept)};
}

}  // namespace

// Earliest starts in the given order: one pass, since gates and links are final by the time that a transfer needs them.
// The order of transfers over every link stays, only idle time goes; the schedule of a semi-active list, in the words
// of machine scheduling.
Times retime(const Transfers& transfers, std::span<const int64_t> chunk_bytes, bool blocking, bool reducing) {
  check_size(chunk_bytes.size(), static_cast<size_t>(transfers.num_chunks), "the bytes of chunks");
  const RouteCost cost(transfers);
  const Gates gates = find_gates(transfers);
  LinkUse links(transfers, blocking);
  std::vector<Picoseconds> opens(gates.previous.size());
  Times times{std::vector<Picoseconds>(transfers.size()), std::vector<Picoseconds>(transfers.size())};
  for (int64_t id = 0; id < transfers.size(); id++) {
    const int32_t route = transfers.route[id];
    const int64_t bytes = chunk_bytes[transfers.chunk[id]];
    Picoseconds start = 0;
    if (const int32_t gate = gates.waits[id]; gate >= 0) {
      // The transfer that waits for the previous gate came earlier, so that one's time is final.
      if (gates.previous[gate] >= 0) opens[gate] = std::max(opens[gate], opens[gates.previous[gate]]);
      start = opens[gate];
    }
    if (const Picoseconds hold = cost.hold(route, bytes, blocking); hold > 0) {
      start = links.earliest(route, start);
      links.take_route(route, start, hold, id);
    }
    times.start[id] = start;
    times.finish[id] = within_horizon(start + cost.duration(route, bytes));
    if (gates.feeds[id] >= 0) opens[gates.feeds[id]] = std::max(opens[gates.feeds[id]], times.finish[id]);
  }
  // A reduction may have come in time for a send at the new times that came after it at the old ones: other sums then.
  if (reducing) {
    const Contents before = contents(transfers, transfers.start, transfers.finish);
    const Contents after = contents(transfers, times.start, times.finish);
    const auto changed = std::ranges::mismatch(before.sent, after.sent).in1;
    if (changed != before.sent.end()) {
      throw ScheduleError(transfers.describe(changed - before.sent.begin()) +
                          " would send other contributions at the new times: its source gets more of the chunk while "
                          "it waits for a link; let the receiver wait, or use two chunks");
    }
    const auto other = std::ranges::mismatch(before.kept, after.kept).in1;
    if (other != before.kept.end()) {
      throw ScheduleError("chunk " + std::to_string(other - before.kept.begin()) +
                          " would have other contributions in the end at the new times: a copy comes in after what was "
                          "to be added to it; let what is added wait for the copy");
    }
  }
  return times;
}

}  // namespace hocket::schedule
