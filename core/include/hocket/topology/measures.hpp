#pragma once

#include "hocket/topology/graph.hpp"

namespace hocket::topology {

/// Throws TopologyError, naming both ranks, when some rank cannot reach another (over links, switches and ranks).
void require_connected(const Graph& graph);

}  // namespace hocket::topology
