#pragma once

#include <cstdint>
#include <vector>

#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/trees.hpp"

namespace hocket::synthesizer {

/// A transfer of a chunk's tree: the one over the link of `rank` in the out-tree (`down`) or the in-tree. 8 bytes.
struct Leg {
  Leg(int32_t chunk, int32_t rank, bool down) : chunk(chunk), code(rank * 2 + down) {}
  int32_t rank() const { return code >> 1; }
  bool down() const { return code & 1; }
  int32_t link(const Trees& trees) const { return trees.row(down() ? trees.down : trees.up, chunk)[rank()]; }
  auto operator<=>(const Leg&) const = default;

  int32_t chunk;
  int32_t code;
};

/// A time for every leg of the trees.
class LegTimes {
 public:
  explicit LegTimes(const Trees& trees) : num_ranks_(trees.num_ranks), up_(trees.up.size()), down_(trees.down.size()) {}
  Picoseconds& operator[](const Leg& leg) { return (leg.down() ? down_ : up_)[at(leg)]; }
  Picoseconds operator[](const Leg& leg) const { return (leg.down() ? down_ : up_)[at(leg)]; }

 private:
  size_t at(const Leg& leg) const { return static_cast<size_t>(leg.chunk) * num_ranks_ + leg.rank(); }

  int32_t num_ranks_;
  std::vector<Picoseconds> up_, down_;
};

/// Legs with times, in the order of their starts.
struct TimedLegs {
  std::vector<Leg> legs;
  std::vector<Picoseconds> finish;
  Picoseconds time = 0;  ///< when the last one is done
};

enum class Direction { kForwards, kBackwards };

/// Starts every leg as soon as its links are free and what it sends has come; where several could go, the one that is
/// due first. Backwards everything runs the other way (time, links and trees), and the result is the mirror image of
/// that, a schedule that runs forwards. Leaves in `due` minus the time at which each leg was done, as seen in the
/// direction it ran: the due times for the opposite direction.
TimedLegs schedule_legs(const Network& network, const Trees& trees, Direction direction, LegTimes& due,
                        const Stop& stop);

}  // namespace hocket::synthesizer
