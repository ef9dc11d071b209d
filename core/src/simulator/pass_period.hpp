#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hocket/simulator/replay.hpp"
#include "hocket/time.hpp"

namespace hocket::simulator {

/// What repeats in a pipeline of equal passes: all that happens, so many passes and so much time later.
struct PassPeriod {
  int64_t passes;
  Picoseconds ps;
};

/// The period of a simulation, when it got into one before its last pass but `tail` began; none where it did not, or
/// where that cannot be told.
///
/// Passes have `count` nodes each, behind one node, the launch; all but the last `tail` are alike, each node waits for
/// what is of the same or of earlier passes, and of every node it is known when it began and when it was done. So what
/// is under way at an instant is known by these times, as long as messages flow over one stretch of links each: their
/// rates depend on who flows beside them alone. Where two instants are alike, but for the passes' numbers, what comes
/// after them is alike, too, until the last pass begins.
std::optional<PassPeriod> period_of(const Outcome& outcome, int64_t count, int64_t tail);

}  // namespace hocket::simulator
