#pragma once

#include <cstdint>
#include <vector>

#include "hocket/synthesizer/routing/packets.hpp"
#include "hocket/synthesizer/stop.hpp"

namespace hocket::synthesizer {

/// Timed transfers of packets, by start: transfer t takes packet[t] over route[t], one of the distinct hops:
/// `route_links[route_offset[k]..route_offset[k+1])`.
struct RoutedTransfers {
  std::vector<int64_t> route_offset{0};
  std::vector<int32_t> route_links;
  std::vector<int32_t> packet, route;
  std::vector<Picoseconds> start, finish;
  Picoseconds time = 0;  ///< when the last one is done
};

/// Who goes first of those that wait for free links.
enum class Rule : uint8_t {
  kLongestWay,   ///< packets with the most work before them
  kBusiestLink,  ///< hops over the link that has most to do yet, then as above: for ports, as in an open shop
};

/// List scheduling: whenever links are free, packets that wait for them start by the rule; among equals those of the
/// least displacement (destination - source) that fits, which on a switch is a permutation of its ports. Never leaves
/// links idle that a waiting packet could take. Throws Stopped.
RoutedTransfers schedule_packets(const topology::Graph& graph, const Packets& packets, const Paths& paths,
                                 bool blocking, Rule rule, const Stop& stop);

}  // namespace hocket::synthesizer
