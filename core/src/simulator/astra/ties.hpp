#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "clock.hpp"

namespace hocket::simulator::astra {

/// Whether it matters in which order things happen that one rank does at one instant.
///
/// Where the peer's order depends on the ranks' numbers, it differs from rank to rank. It does not where phases of one
/// course were begun by one cause: they do the same at the same times, and each step in the order in which they began.
/// A cause is such a set of phases that end at one instant, or anything else that happens. Different causes of one
/// instant may come in any order; that matters where they change the same thing.
///
/// Conservative: it may call a tie open that does no harm, never the other way round.
class Ties {
 public:
  explicit Ties(const Clock& clock) : clock_(clock) {}

  /// What follows is done at the end of a phase of a course (a number), which `beginning` has begun.
  void follow(uint32_t course, uint32_t beginning) {
    renew();
    const auto same = std::ranges::find_if(
        causes_, [&](const Cause& cause) { return cause.course == course && cause.beginning == beginning; });
    if (same == causes_.end()) {
      causes_.push_back({course, beginning, current_ = ++last_});
    } else {
      current_ = same->number;
    }
  }

  /// What follows is done for a reason of its own.
  void follow_alone() { current_ = ++last_; }

  /// Who has entered and left a queue at an instant.
  struct Passage {
    Nanoseconds time = -1;
    uint32_t entering = 0, leaving = 0;
  };

  /// Something enters a queue, where it matters who comes first.
  void enter(Passage& passage) { pass(passage, passage.entering); }

  /// Something leaves a queue, and what waits longest begins.
  void leave(Passage& passage) { pass(passage, passage.leaving); }

  /// Whether something enters and something leaves for different causes. What is at the head then begins whichever
  /// comes first, but which of them lets it begin is open.
  bool is_open(const Passage& passage) const {
    return passage.time == clock_.now() && passage.entering && passage.leaving && passage.entering != passage.leaving;
  }

  /// Who begins what begins now in a queue.
  uint32_t beginning(const Passage& passage) { return is_open(passage) ? ++last_ : current_; }

  /// Counts down to the end of a node, or ends it. Only an end changes what is done next.
  void touch_workload(bool is_end) {
    if (workload_time_ != clock_.now()) {
      workload_time_ = clock_.now();
      workload_cause_ = current_;
      workload_is_shared_ = workload_has_end_ = false;
    }
    workload_is_shared_ |= workload_cause_ != current_;
    workload_has_end_ |= is_end;
    if (workload_is_shared_ && workload_has_end_) matters();
  }

  /// The order matters from now on.
  void matters() { since_ = std::min(since_, clock_.now()); }

  /// Whether it mattered at an instant before this one.
  bool mattered_before(Nanoseconds time) const { return since_ < time; }

 private:
  struct Cause {
    uint32_t course, beginning, number;
  };

  void pass(Passage& passage, uint32_t& cause) {
    if (passage.time != clock_.now()) passage = {clock_.now(), 0, 0};
    if (cause && cause != current_) matters();
    cause = current_;
  }

  void renew() {
    if (time_ == clock_.now()) return;
    time_ = clock_.now();
    causes_.clear();
  }

  const Clock& clock_;
  Nanoseconds time_ = -1;  // of the causes
  std::vector<Cause> causes_;
  uint32_t current_ = 1, last_ = 1;  // 0 is nobody
  Nanoseconds workload_time_ = -1;
  uint32_t workload_cause_ = 0;
  bool workload_is_shared_ = false, workload_has_end_ = false;
  Nanoseconds since_ = std::numeric_limits<Nanoseconds>::max();
};

}  // namespace hocket::simulator::astra
