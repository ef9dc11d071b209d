#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "hocket/simulator/job.hpp"
#include "hocket/simulator/link_bins.hpp"
#include "hocket/simulator/network/links.hpp"
#include "hocket/simulator/packets.hpp"
#include "hocket/simulator/plan.hpp"
#include "hocket/simulator/work.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::simulator {

/// How a job is run, and what is recorded of it.
struct Fidelity {
  LinkSettings links;
  Slowdown slowdown;
  bool record_occupancy = false;  // what every link did when
  int32_t link_bins = 0;          // if not 0: how busy each link was in so many bins of time
  bool adaptive = false;          // a message takes the least loaded of its paths; else it is divided among them
  PacketSettings packets{};       // of model `packet`
};

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
  /// Of each node: the node whose start its finish goes back to without a wait. Itself, but for the part in a
  /// collective of one who waited for another member, and for a receive that waited for its send.
  std::vector<int32_t> cause;
  std::vector<Picoseconds> slowed_ps;  // of each rank: how much longer it computed because it communicated
  std::vector<LinkUse> links;
  std::vector<Occupancy> occupancy;  // in order of start per link; empty unless asked for
  LinkBins bins;                     // busy time of each link over time; empty unless asked for
  int64_t events = 0;
  PacketUse packets;  // of model `packet`
};

/// Runs a job on a network: `model` is `uncontended`, `analytical`, `congestion`, `flow` or
/// `packet`. `plans` are those that
/// `job.plan_of` numbers.
///
/// Every rank computes one node at a time (the ready one that comes first) and has any number of communications in
/// flight. Where a message has several paths it takes one, or a part of it each; it is there when all parts are.
/// A message of a collective leaves when what it depends on has arrived, the message before it on its route has
/// left, and both its ends have reached the collective; a rank's part is done when all it sends and receives is. A
/// single message leaves when its sender reaches it and is done, for both ends, when it has arrived. A memory serves
/// one access after the other; those of one instant in the order of their nodes.
/// While a rank has a communication of its own (from when it reaches the node until that is done) it computes more
/// slowly by `fidelity.slowdown`.
/// Throws SimulationError when the model is unknown, or messages stand for several where they do not flow; Infeasible
/// when something takes longer than the horizon.
Outcome replay(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
               std::string_view model, const Fidelity& fidelity);

}  // namespace hocket::simulator
