#pragma once

#include <cstdint>
#include <vector>

#include "hocket/simulator/job.hpp"
#include "hocket/simulator/packets.hpp"
#include "hocket/simulator/plan.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::simulator {

/// A job as one graph of steps, for simulators that know neither collectives nor plans: what a step is, and how many
/// others have to be done before it begins.
///
/// Step k is of `kind[k]`, with an `amount` (picoseconds; bytes of a transfer) at a `place`, and begins when
/// `needs[k]` of the edges `from[e] -> to[e]` that lead to it have come, an edge when its first step is done. Transfer
/// k takes the links `links[link_offset[k]..link_offset[k + 1]]` (of other steps none), all of them between two nodes
/// that keep messages. Of job node n step `begin[n]` begins when its dependencies are done, and `end[n]` is done when
/// it is. Steps of one kind that may begin at one instant are numbered in the order in which they begin.
struct MessageGraph {
  enum class Kind : uint8_t {
    kMoment,    // takes no time
    kCompute,   // has the rank `place` for itself: the lowest step that is ready first
    kDelay,     // takes its time
    kAccess,    // has the memory `place` for itself: first come, first served
    kTransfer,  // sends its bytes behind those of its connection `place`
  };

  std::vector<uint8_t> kind;
  std::vector<int64_t> amount;
  std::vector<int32_t> place, needs;
  std::vector<int64_t> link_offset{0};
  std::vector<int32_t> links;
  std::vector<int32_t> from, to;
  std::vector<int32_t> begin, end;
};

/// The graph of a job whose collectives follow `plans`, of messages cut as packets are where they have several paths.
/// A message follows the rules of `replay`. Throws SimulationError where it would have more than `most_steps` steps.
MessageGraph message_graph(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
                           const PacketSettings& packets, int64_t most_steps);

}  // namespace hocket::simulator
