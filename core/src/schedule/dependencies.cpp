#include "hocket/schedule/dependencies.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "replay.hpp"

namespace hocket::schedule {

namespace {

/// Finds the gates of some states, each a chunk at a rank, from what is sent from them and delivered to them.
///
/// A gate is "all deliveries since the last one have come": what is sent from a state waits for the newest gate, and a
/// gate for the one before it. So dependencies take memory for each transfer, not for each pair of send and delivery,
/// of which a reduction over n ranks would have n^2.
class GateFinder {
 public:
  GateFinder(int64_t num_transfers, int64_t num_states)
      : gates_{std::vector<int32_t>(num_transfers, -1), std::vector<int32_t>(num_transfers, -1), {}},
        gate_(num_states, -1),
        pending_(num_states, -1),
        next_(num_transfers, -1) {}

  /// A copy makes what was there before of no interest: only what is delivered from here on is waited for.
  void forget(int32_t state) { gate_[state] = pending_[state] = -1; }

  void send(int32_t id, int32_t state) {
    // The first send after deliveries closes a gate; sends of the same state after it share it.
    if (pending_[state] >= 0) {
      const auto opened = static_cast<int32_t>(gates_.previous.size());
      gates_.previous.push_back(gate_[state]);
      for (int32_t delivery = pending_[state]; delivery >= 0; delivery = next_[delivery]) {
        gates_.feeds[delivery] = opened;
      }
      gate_[state] = opened;
      pending_[state] = -1;
    }
    gates_.waits[id] = gate_[state];
  }

  void deliver(int32_t id, int32_t state, bool reduce) {
    if (!reduce) forget(state);
    next_[id] = pending_[state];
    pending_[state] = id;
  }

  Gates take() { return std::move(gates_); }

 private:
  Gates gates_;
  std::vector<int32_t> gate_;     // of the present state
  std::vector<int32_t> pending_;  // the deliveries since then that no gate knows: a list linked by `next_`
  std::vector<int32_t> next_;
};

}  // namespace

Gates find_gates(const Transfers& transfers) {
  const ChunkIndex index(transfers);
  GateFinder finder(transfers.size(), transfers.graph->num_nodes());
  ChunkReplay replay;
  for (int64_t chunk = 0; chunk < transfers.num_chunks; chunk++) {
    const auto ids = index.of(chunk);
    for (const int32_t id : ids) {
      finder.forget(transfers.src(id));
      finder.forget(transfers.dst(id));
    }
    replay.run(
        ids, transfers.start, transfers.finish,
        [&](int32_t id) {
          if (!transfers.is_own(id)) finder.send(id, transfers.src(id));
        },
        [&](int32_t id) { finder.deliver(id, transfers.dst(id), transfers.reduce[id]); });
  }
  return finder.take();
}

Gates find_gates(const Pattern& pattern) {
  const auto largest = [](std::span<const int32_t> states) { return states.empty() ? -1 : std::ranges::max(states); };
  GateFinder finder(pattern.size(), std::max(largest(pattern.sends), largest(pattern.delivers)) + 1);
  std::vector<int32_t> ids(pattern.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::vector<Picoseconds> finish(pattern.step.begin(), pattern.step.end());
  // Within a step all sends come before all deliveries: a pattern's step n works on what steps before n left.
  for (Picoseconds& step : finish) step++;
  ChunkReplay().run(
      ids, pattern.step, finish,
      [&](int32_t id) {
        if (!pattern.is_own(id)) finder.send(id, pattern.sends[id]);
      },
      [&](int32_t id) { finder.deliver(id, pattern.delivers[id], pattern.reduce[id]); });
  return finder.take();
}

Dependencies find_dependencies(const Transfers& transfers) {
  const Gates gates = find_gates(transfers);
  std::vector<std::vector<int32_t>> deliveries(gates.previous.size());
  for (int64_t id = 0; id < transfers.size(); id++) {
    if (gates.feeds[id] >= 0) deliveries[gates.feeds[id]].push_back(static_cast<int32_t>(id));
  }
  Dependencies result{{0}, {}};
  result.offset.reserve(transfers.size() + 1);
  for (int64_t id = 0; id < transfers.size(); id++) {
    for (int32_t gate = gates.waits[id]; gate >= 0; gate = gates.previous[gate]) {
      result.ids.insert(result.ids.end(), deliveries[gate].begin(), deliveries[gate].end());
    }
    std::sort(result.ids.begin() + result.offset.back(), result.ids.end());
    result.offset.push_back(static_cast<int64_t>(result.ids.size()));
  }
  return result;
}

}  // namespace hocket::schedule
