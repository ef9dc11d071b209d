#pragma once

#include <optional>

#include "hocket/synthesizer/routing/packets.hpp"
#include "hocket/synthesizer/routing/schedule.hpp"
#include "hocket/synthesizer/stop.hpp"

namespace hocket::synthesizer {

/// Schedules packets that switches alone bring to their destinations in rounds: a round is a partial permutation of the
/// ranks whose ways share no link. Nothing where a packet would have to pass another rank.
///
/// Packets come by displacement in the hierarchy of the switches (`SwitchWays`: leaf from leaf, then rank from rank),
/// so that those of one displacement are a permutation that loads all leaves and their uplinks alike; those that stay
/// in their leaf fill the gaps at last. Each gets the first round in which one of its ways of fewest links is free, as
/// edges are coloured greedily. Links then take their packets in the order of rounds, as soon as they can. Best for
/// packets of one size. Throws Stopped.
std::optional<RoutedTransfers> schedule_rounds(const topology::Graph& graph, const Packets& packets, bool blocking,
                                               const Stop& stop);

}  // namespace hocket::synthesizer
