#include "../network/packet/network.hpp"
#include "engine.hpp"
#include "models.hpp"

namespace hocket::simulator {

Outcome replay_packets(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
                       const Fidelity& fidelity) {
  return Replay<PacketNetwork>(job, plans, graph, fidelity).run();
}

}  // namespace hocket::simulator
