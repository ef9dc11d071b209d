#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hocket/simulator/astra/program.hpp"
#include "hocket/simulator/astra/setup.hpp"

namespace hocket::simulator::astra {

/// A receive whose message never came: the workload's node that waits, the rank that should have sent, and how much.
struct Waiting {
  uint32_t node;
  int32_t source;
  int64_t bytes;
};

/// What a node of the workload has come to.
enum class Progress : uint8_t { kWaiting, kReady, kIssued, kDone };

struct Outcome {
  std::vector<Nanoseconds> finish_ns;   // of each rank, -1: never
  std::vector<Nanoseconds> compute_ns;  // of each rank: what its accelerator computed
  std::vector<uint8_t> progress;        // of each node
  std::vector<int64_t>
      first_stream;  // of each node: how many streams its rank had started before it, -1: no collective
  std::vector<Waiting> waiting;
  std::vector<int32_t> crashed;  // ranks at whose finish the peer's statistics abort
  // What the result says about itself:
  std::vector<double> byte_hops;  // bytes times links of all messages, per dimension
  int64_t partly_charged = 0;     // messages that cross several dimensions and paid for the first one only
  Nanoseconds uncharged_ns = 0;   // what they would have paid for the others, in all
  int64_t messages = 0;
  int64_t events = 0;
};

/// Runs a workload as ASTRA-sim does. `custom` are the collectives given as graphs: a program whose ranks are positions
/// in the group.
/// Throws SimulationError when the workload asks for something that ASTRA-sim cannot do, naming rank and node row.
Outcome simulate(std::span<const Dimension> dimensions, const System& system, const RemoteMemory& memory,
                 std::span<const Group> groups, const Program& workload, std::span<const Program> custom);

/// The same for a workload that is the same on every rank, of which `workload` has one, in a time that hardly depends
/// on how many ranks there are. `progress` is of this one rank's nodes. Nothing where that is not certain to be the
/// result of `simulate`: messages may wait for each other, an algorithm gives ranks different parts, or ranks do
/// different things first at one instant and it may matter which.
std::optional<Outcome> simulate_alike(std::span<const Dimension> dimensions, const System& system,
                                      const RemoteMemory& memory, const Program& workload);

/// The same as `simulate` for ranks that do not do the same, where all exchanges send one message at a time: all steps
/// of one are computed at once. Nothing where that is not certain to be the result of `simulate`.
std::optional<Outcome> simulate_in_convoys(std::span<const Dimension> dimensions, const System& system,
                                           const RemoteMemory& memory, std::span<const Group> groups,
                                           const Program& workload);

}  // namespace hocket::simulator::astra
