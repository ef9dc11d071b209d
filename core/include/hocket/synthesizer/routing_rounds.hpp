#pragma once

#include <optional>

#include "hocket/synthesizer/routing_packets.hpp"
#include "hocket/synthesizer/routing_schedule.hpp"
#include "hocket/synthesizer/stop.hpp"

namespace hocket::synthesizer {

/// Schedules packets that switches alone bring to their destinations in rounds: a round is a partial permutation of the
/// ranks whose ways share no link. Nothing where a packet would have to pass another rank.
///
/// Packets come by how far apart their ends are in the hierarchy of the switches (leaf from leaf, then rank from rank
/// within leaves), so that those of one displacement are a permutation that loads all leaves and their uplinks alike:
/// the linear shifts of fat trees (Zahavi et al., J. Parallel Distrib. Comput. 72, 2012). Each gets the first round in
/// which one of its ways of fewest links is free, as edges are coloured greedily; ranks then go through their rounds
/// without waiting for each other. Best for packets of one size. Throws Stopped.
std::optional<RoutedTransfers> schedule_rounds(const topology::Graph& graph, const Packets& packets, bool blocking,
                                               const Stop& stop);

}  // namespace hocket::synthesizer
