#pragma once

#include <vector>

#include "hocket/simulator/replay.hpp"

namespace hocket::simulator {

// One instance of the engine a model, so that its calls are inlined: the network's part is most of the time. Each is
// compiled on its own, for what the compiler inlines in a file has a limit.
using ReplayOfModel = Outcome(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
                              const Fidelity& fidelity);
ReplayOfModel replay_uncontended, replay_analytical, replay_congestion, replay_flow, replay_packets;

}  // namespace hocket::simulator
