#include "hocket/simulator/replay.hpp"

#include <string>

#include "hocket/error.hpp"
#include "replay/models.hpp"

namespace hocket::simulator {

Outcome replay(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph,
               std::string_view model, const Fidelity& fidelity) {
  if (fidelity.links.alike != 1 && model != "flow") {
    throw SimulationError("messages that flow alone can stand for others like them");
  }
  if (model == "uncontended") return replay_uncontended(job, plans, graph, fidelity);
  if (model == "analytical") return replay_analytical(job, plans, graph, fidelity);
  if (model == "congestion") return replay_congestion(job, plans, graph, fidelity);
  if (model == "flow") return replay_flow(job, plans, graph, fidelity);
  if (model == "packet") return replay_packets(job, plans, graph, fidelity);
  throw SimulationError("unknown network model '" + std::string(model) +
                        "', expected uncontended, analytical, congestion, flow or packet");
}

}  // namespace hocket::simulator
