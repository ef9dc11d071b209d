#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hocket/simulator/job.hpp"
#include "hocket/simulator/network.hpp"
#include "hocket/simulator/plan.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::simulator {

/// A link's work on one message: who had it when. `collective` is an instance, or -1: `message` is a single one;
/// otherwise `message` is its position in the collective's schedule.
struct Occupancy {
  int32_t link;
  int32_t collective;
  int32_t message;
  Picoseconds start_ps;
  Picoseconds finish_ps;
};

/// What a simulation found. Times of nodes that never came to pass are -1: a deadlock.
struct Outcome {
  std::vector<Picoseconds> start_ps, finish_ps;  // of each node: when its dependencies were done, when it was
  std::vector<LinkUse> links;
  std::vector<Occupancy> occupancy;  // in order of start per link; empty unless asked for
  int64_t events = 0;
};

/// Runs a job on a network: `model` is `analytical` or `congestion`. `plans` are those that `job.plan_of` numbers.
///
/// Every rank computes one node at a time (the ready one that comes first) and has any number of communications in
/// flight. A message of a collective leaves when what it depends on has arrived, the message before it on its route has
/// left, and both its ends have reached the collective; a rank's part is done when all it sends and receives is. A
/// single message leaves when its sender reaches it and is done, for both ends, when it has arrived.
/// Throws SimulationError when the model is unknown, Infeasible when something takes longer than the horizon.
Outcome replay(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
               std::string_view model, Switching switching, bool record_occupancy);

}  // namespace hocket::simulator
