#pragma once

#include <cstdint>
#include <vector>

#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/trees/legs.hpp"

namespace hocket::synthesizer {

/// Legs with times, in the order of their starts.
struct TimedLegs {
  std::vector<int32_t> legs;
  std::vector<Picoseconds> finish;
  Picoseconds time = 0;  ///< when the last one is done
};

enum class Direction { kForwards, kBackwards };

/// Starts every leg as soon as its wires are free and what it sends has come; where several could go, the most urgent
/// one. Backwards everything runs the other way (time, links and trees), and the result is the mirror image of that, a
/// schedule that runs forwards. Leaves in `urgency` that what was done last, as seen in the direction it ran, is the
/// most urgent: for the opposite direction. Throws Infeasible when it takes longer than the horizon.
TimedLegs schedule_legs(const Lanes& lanes, const Legs& legs, Direction direction, Urgency& urgency, const Stop& stop);

}  // namespace hocket::synthesizer
