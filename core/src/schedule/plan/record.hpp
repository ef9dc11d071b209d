#pragma once

#include <cstdint>
#include <vector>

#include "log.hpp"

namespace hocket::schedule::plan {

/// A block or a proxy: what was done before its threads last met, and what since, all at once.
///
/// Events between two meetings are causes of the next meeting but not of each other: that is all that is known of
/// threads of a block that do not synchronise.
struct Lane {
  int64_t base = -1;
  std::vector<int64_t> open;
  int64_t shown = -1;  ///< what even a relaxed signal shows: what was released by others, or by the lane itself
  std::vector<int32_t> chains;
  int64_t meetings = 0;

  void settle(int64_t event) {
    base = event;
    open.clear();
  }
};

/// Notes what happens, with its causes: those given since the event before.
class Recorder {
 public:
  /// `launch`: the present one of each rank.
  explicit Recorder(const std::vector<int32_t>& launch) : launch_(launch) {}

  const Log& log() const { return log_; }

  int32_t new_chain() {
    chain_length_.push_back(0);
    return log_.num_chains++;
  }

  /// A chain for one more event at once with those that are open.
  int32_t next_chain(Lane& lane) {
    const size_t position = lane.open.size();
    while (lane.chains.size() <= position) lane.chains.push_back(new_chain());
    return lane.chains[position];
  }

  void because(int64_t event, Shows shows = Shows::kAll) {
    if (event >= 0) log_.causes.push_back({event, shows});
  }

  void because_all(const Lane& lane) {
    because(lane.base);
    for (const int64_t event : lane.open) because(event);
  }

  /// The event whose causes were given last.
  int64_t happen(int32_t chain, int32_t rank, int64_t step) {
    const int32_t index = chain < 0 ? 0 : chain_length_[chain]++;
    log_.events.push_back({chain, index, rank, launch_[rank], step});
    log_.first_cause.push_back(std::ssize(log_.causes));
    return std::ssize(log_.events) - 1;
  }

  /// `lane` is now shown what `event` sees.
  void show(Lane& lane, int32_t rank, int64_t event, Shows shows = Shows::kAll) {
    because(lane.shown);
    because(event, shows);
    lane.shown = happen(-1, rank, -1);
  }

  /// The lane's threads meet.
  void meet(Lane& lane, int32_t rank) {
    lane.meetings++;
    if (lane.open.empty()) return;
    because_all(lane);
    lane.settle(happen(-1, rank, -1));
  }

  /// `event` writes packets at `operand` that say what they said.
  void note_idle(int64_t event, int64_t operand) { log_.idle.insert({event, operand}); }

 private:
  const std::vector<int32_t>& launch_;
  Log log_;
  std::vector<int32_t> chain_length_;
};

}  // namespace hocket::schedule::plan
