#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/time.hpp"
#include "hocket/topology/graph.hpp"
#include "hocket/topology/paths.hpp"

namespace hocket::simulator {

/// What a node of a rank's program does; the comment says what `operand` is.
enum class NodeKind : uint8_t {
  kNothing,     // done at once
  kCompute,     // occupies the rank's compute resource: picoseconds
  kCollective,  // takes part in a collective: instance
  kSend,        // sends a message: message
  kReceive,     // waits for a message to arrive: message
  kMemory,      // reads or writes a memory: access
  kDelay,       // takes its time, and keeps nobody from anything: picoseconds
};

/// A program per rank: nodes with dependencies, joined across ranks by collectives and by single messages.
struct Job {
  /// Columns over all nodes; rank r's are `rank_offset[r]..rank_offset[r+1]`, in the order in which ready computations
  /// are picked. `member` is a collective node's number in its group. Node k waits for
  /// `dependency[dependency_offset[k]..dependency_offset[k+1]]`.
  struct Nodes {
    std::span<const int64_t> rank_offset;
    std::span<const uint8_t> kind;
    std::span<const int64_t> operand;
    std::span<const int32_t> member;
    std::span<const int64_t> dependency_offset;
    std::span<const int64_t> dependency;
  };
  /// Single messages: message m takes the m-th `paths` with `bytes[m]`. Those of one `stream` (from 0 up) follow one
  /// another where flows share links.
  struct Messages {
    topology::Paths paths;
    std::vector<int64_t> bytes;
    std::vector<int32_t> priority;  // the higher, the sooner served
    std::vector<int32_t> stream;
  };

  /// Memory accesses: access a waits its turn at `memory[a]` (below the number of accesses), first come, first served,
  /// has it for `service_ps[a]`, and is done `latency_ps[a]` later.
  struct Accesses {
    std::vector<int32_t> memory;
    std::vector<Picoseconds> service_ps;
    std::vector<Picoseconds> latency_ps;
  };

  /// `plan_of[i]` is the number of the plan that collective instance i follows, `priority_of[i]` the priority of its
  /// messages, `plan_members` how many members each plan has. Throws TraceError when an index is out of range or the
  /// columns differ in length.
  Job(const topology::Graph& graph, const Nodes& nodes, Messages messages, Accesses accesses,
      std::vector<int32_t> plan_of, std::vector<int32_t> priority_of, const std::vector<int32_t>& plan_members);

  int32_t num_ranks() const { return static_cast<int32_t>(rank_offset.size()) - 1; }
  int32_t num_nodes() const { return static_cast<int32_t>(kind.size()); }
  std::span<const int32_t> dependents_of(int32_t node) const {
    return {dependents.data() + dependents_offset[node],
            static_cast<size_t>(dependents_offset[node + 1] - dependents_offset[node])};
  }

  std::vector<int64_t> rank_offset;
  std::vector<int32_t> rank;  // of each node
  std::vector<NodeKind> kind;
  std::vector<int64_t> operand;
  std::vector<int32_t> member;
  std::vector<uint32_t> waits;  // number of dependencies of each node
  std::vector<int64_t> dependents_offset;
  std::vector<int32_t> dependents;
  Messages messages;
  Accesses accesses;
  std::vector<int32_t> plan_of, priority_of;
  std::vector<int32_t> sender, receiver;  // node of each message, -1: none
};

}  // namespace hocket::simulator
