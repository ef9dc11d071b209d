#pragma once

#include <cstdint>
#include <vector>

#include "hocket/simulator/job.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::simulator {

/// What no algorithm can beat for one member of a collective.
struct MemberBound {
  static constexpr int32_t kNobody = -2, kEverybody = -1;

  Picoseconds own_ps;   // from its own start: its bytes through its own links
  Picoseconds hear_ps;  // from its source's start: the shortest link into it
  int32_t source;       // whose data it needs: a member, kEverybody or kNobody
};

/// Bounds of the members of each of the collectives that `job.plan_of` numbers.
using CollectiveBounds = std::vector<std::vector<MemberBound>>;

/// Times of each node, -1: never.
struct NodeTimes {
  std::vector<Picoseconds> start_ps, finish_ps;
};

/// Earliest start and finish of each node on any network schedule: the longest path through the job, where a
/// collective takes its members' bounds, a single message has its route to itself (cut-through), and a rank may compute
/// any number of nodes at once. No replay of the job can finish a node earlier.
NodeTimes critical_path(const Job& job, const CollectiveBounds& bounds, const topology::Graph& graph);

}  // namespace hocket::simulator
