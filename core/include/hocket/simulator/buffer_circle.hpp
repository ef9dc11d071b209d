#pragma once

#include <cstdint>
#include <vector>

#include "hocket/simulator/job.hpp"
#include "hocket/simulator/plan.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::simulator {

/// What buffers of switches may wait for.
struct BufferWaits {
  /// Links whose buffers, if all are full, wait for each other in this order: on some path each is followed by the next
  /// one, and the last by the first. Empty: there are none, and whatever is in a buffer comes out (Dally and Seitz
  /// 1987).
  std::vector<int32_t> circle;
  int32_t most_buffers = 0;  // that a packet of the job passes through between two ranks
  /// Of each link the ring that its buffer is in: buffers of which each is followed by one other of them. kNoRing: it
  /// is in no circle; kTangled: it is in several.
  std::vector<int32_t> ring_of;

  static constexpr int32_t kNoRing = -1, kTangled = -2;
};

/// What buffers may wait for under the paths of a job and its plans.
BufferWaits buffer_waits(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph);

}  // namespace hocket::simulator
