#include "../network/flow.hpp"

#include "engine.hpp"
#include "models.hpp"

namespace hocket::simulator {

Outcome replay_flow(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
                    const Fidelity& fidelity) {
  return Replay<Flow>(job, plans, graph, fidelity).run();
}

}  // namespace hocket::simulator
