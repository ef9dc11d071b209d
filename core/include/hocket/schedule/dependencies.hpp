#pragma once

#include <cstdint>
#include <vector>

#include "hocket/schedule/pattern.hpp"
#include "hocket/schedule/transfers.hpp"

namespace hocket::schedule {

/// What each transfer waits for, in space linear in the transfers. A gate is a state of a chunk at a node that some
/// transfer sends; it opens when its previous gate is open and all deliveries that feed it have finished. Gates are
/// numbered so that `previous[g] < g`, and a delivery that feeds a gate has a smaller id than the transfers waiting.
struct Gates {
  std::vector<int32_t> waits;     ///< per transfer: the gate it waits for, -1: it may start at once
  std::vector<int32_t> feeds;     ///< per transfer: the gate that its delivery helps to open, -1: none
  std::vector<int32_t> previous;  ///< per gate: the gate that must be open as well, -1: none
};

/// The gates of a schedule. A transfer waits for the deliveries of its chunk into its source that finished by its
/// start, from the last copy on (a copy overwrites what came before); one that carries its source's own contribution
/// waits for nothing. O(M log M).
Gates find_gates(const Transfers& transfers);

/// The same for the transfers of one rank and the gates that it sees. A gate that a transfer feeds is one of its
/// destination's.
Gates find_gates(const Pattern& pattern);

/// The same as lists: transfer t waits for `ids[offset[t]..offset[t+1])`, ascending.
struct Dependencies {
  std::vector<int64_t> offset;
  std::vector<int32_t> ids;
};
Dependencies find_dependencies(const Transfers& transfers);

}  // namespace hocket::schedule
