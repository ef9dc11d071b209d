#pragma once

#include <cstdint>
#include <span>

#include "hocket/simulator/network/links.hpp"
#include "hocket/time.hpp"
#include "hocket/topology/graph.hpp"
#include "hocket/topology/paths.hpp"

namespace hocket::simulator {

/// What a program does in one pass: nodes that wait for each other.
struct PassNodes {
  std::span<const uint8_t> kind;     // `NodeKind` of each
  std::span<const int32_t> message;  // that it sends or receives, or whose time it takes; -1: none
  std::span<const int32_t> starts;   // nodes of the first pass that wait for the launch
  /// Node `before[k]` of the pass `lag[k]` earlier is done before node `after[k]` begins.
  std::span<const int64_t> before, after, lag;
  std::span<const int32_t> latency;  // of each message, the node that takes its latency; others of it take it as busy
};

/// What the messages of the passes carry: row after row a column of as many as there are messages.
struct PassMessages {
  std::span<const int32_t> row;         // of each pass
  std::span<const int32_t> connection;  // of each message; each connection has its pair of paths
  std::span<const int64_t> bytes;       // on links; 0: it is not sent
  std::span<const int64_t> busy_ps, latency_ps;
};

/// When the last node of all passes is done, `launch_ps` after which the first begin; -1 where some never are. Messages
/// flow, those of a connection one after the other (`Flow`). Throws TraceError when an index is out of range or columns
/// differ in length, Infeasible as `replay`.
Picoseconds program_time(const PassNodes& nodes, const PassMessages& messages, Picoseconds launch_ps,
                         const topology::Paths& paths, const topology::Graph& graph, const LinkSettings& links);

}  // namespace hocket::simulator
