#include "hocket/schedule/dependencies.hpp"

#include <algorithm>

#include "hocket/schedule/replay.hpp"

namespace hocket::schedule {

Gates find_gates(const Transfers& transfers) {
  Gates gates{std::vector<int32_t>(transfers.size(), -1), std::vector<int32_t>(transfers.size(), -1), {}};
  const ChunkIndex index(transfers);
  // Per node: the gate of its present state, and the deliveries since then that no gate knows (a list linked by id).
  std::vector<int32_t> gate(transfers.graph->num_nodes()), pending(transfers.graph->num_nodes());
  std::vector<int32_t> next(transfers.size(), -1);
  ChunkReplay replay;
  for (int64_t chunk = 0; chunk < transfers.num_chunks; chunk++) {
    const auto ids = index.of(chunk);
    for (const int32_t id : ids) {
      gate[transfers.src(id)] = gate[transfers.dst(id)] = -1;
      pending[transfers.src(id)] = pending[transfers.dst(id)] = -1;
    }
    const auto on_send = [&](int32_t id) {
      const int32_t node = transfers.src(id);
      if (pending[node] >= 0) {
        const auto opened = static_cast<int32_t>(gates.previous.size());
        gates.previous.push_back(gate[node]);
        for (int32_t delivery = pending[node]; delivery >= 0; delivery = next[delivery]) gates.feeds[delivery] = opened;
        gate[node] = opened;
        pending[node] = -1;
      }
      gates.waits[id] = gate[node];
    };
    const auto on_delivery = [&](int32_t id) {
      const int32_t node = transfers.dst(id);
      if (!transfers.reduce[id]) gate[node] = pending[node] = -1;
      next[id] = pending[node];
      pending[node] = id;
    };
    replay.run(ids, transfers.start, transfers.finish, on_send, on_delivery);
  }
  return gates;
}

Dependencies find_dependencies(const Transfers& transfers) {
  const Gates gates = find_gates(transfers);
  std::vector<std::vector<int32_t>> deliveries(gates.previous.size());
  for (int64_t id = 0; id < transfers.size(); id++) {
    if (gates.feeds[id] >= 0) deliveries[gates.feeds[id]].push_back(static_cast<int32_t>(id));
  }
  Dependencies result{{0}, {}};
  result.offset.reserve(transfers.size() + 1);
  for (int64_t id = 0; id < transfers.size(); id++) {
    for (int32_t gate = gates.waits[id]; gate >= 0; gate = gates.previous[gate]) {
      result.ids.insert(result.ids.end(), deliveries[gate].begin(), deliveries[gate].end());
    }
    std::sort(result.ids.begin() + result.offset.back(), result.ids.end());
    result.offset.push_back(static_cast<int64_t>(result.ids.size()));
  }
  return result;
}

}  // namespace hocket::schedule
