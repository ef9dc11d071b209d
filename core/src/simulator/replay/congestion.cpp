#include "../network/congestion.hpp"

#include "engine.hpp"
#include "models.hpp"

namespace hocket::simulator {

Outcome replay_congestion(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
                          const Fidelity& fidelity) {
  return Replay<Congestion>(job, plans, graph, fidelity).run();
}

}  // namespace hocket::simulator
