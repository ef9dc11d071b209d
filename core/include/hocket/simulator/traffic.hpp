#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hocket/simulator/link_bins.hpp"
#include "hocket/simulator/network/links.hpp"
#include "hocket/simulator/packets.hpp"
#include "hocket/time.hpp"
#include "hocket/topology/graph.hpp"
#include "hocket/topology/paths.hpp"

namespace hocket::simulator {

/// Messages that nobody recorded: who sends to whom, by chance, and how often.
///
/// A rank has one queue: a message leaves when it is ready and all of those before it have left. Which ones come is
/// drawn when the rank comes to them, so that memory is for what is under way, however much waits.
struct TrafficSettings {
  int64_t message_bytes = 4096;
  /// Pairs that rank r chooses from evenly, numbers of pairs of `paths`: `near[r]..near[r + 1]`, or of `far_ppm` of a
  /// million messages `far[r]..far[r + 1]`. A message that would go where there is nobody is not sent.
  std::vector<int64_t> near, far;
  int64_t far_ppm = 0;
  topology::Paths paths;
  std::vector<uint8_t> is_far;  // of each pair, whether it is of two nodes
  /// Open loop: the mean time between messages of each rank, which is exponentially distributed; 0: it sends none.
  std::vector<Picoseconds> gap_ps;
  int32_t window = 0;          // closed loop: how many messages of a rank are always under way; 0: open loop
  bool adaptive = false;       // a message takes the least loaded of its paths, else one of them by their shares
  uint64_t seed = 0;           // of all that is drawn
  Picoseconds from_ps = 0;     // what is delivered from then on is counted,
  Picoseconds until_ps = 0;    // until then; no message is made later
  bool drains = false;         // whether it goes on until all is delivered
  int32_t bins = 0;            // of time, for links; even
  std::vector<uint8_t> outer;  // of each link whether it is between nodes, behind their NICs
};

/// Where the time of a message goes between nodes, in the order in which it passes through; by its first packet but for
/// the last part.
enum class Stage : uint8_t {
  kSource,              // until its first byte leaves its rank
  kSourceNetwork,       // until that is at the NIC
  kSourceNic,           // until the NIC sends
  kBetween,             // until all of the packet is at the other NIC, or goes on there
  kDestinationNic,      // until the first byte leaves that
  kDestinationNetwork,  // until the first byte is at the other rank
  kDestination,         // until the last byte of the message is
};
inline constexpr size_t kStages = 7;

/// What came of traffic: messages that were made, that arrived in all, and within the time that is counted.
struct TrafficOutcome {
  int64_t made = 0, arrived = 0;
  int64_t near_arrived = 0, far_arrived = 0;
  Latencies near, far;                   // of these
  std::array<Latencies, kStages> parts;  // of the far ones
  std::vector<int64_t> arrived_from;     // of each rank, within the time that is counted
  std::vector<LinkUse> links;
  LinkBins bins;
  PacketUse packets;
  int64_t events = 0;
};

/// Runs traffic over a network of packets. Throws SimulationError for columns that do not fit each other.
TrafficOutcome run_traffic(const topology::Graph& graph, const LinkSettings& links, const PacketSettings& packets,
                           const TrafficSettings& traffic);

}  // namespace hocket::simulator
