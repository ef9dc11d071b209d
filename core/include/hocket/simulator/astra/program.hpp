#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/simulator/astra/setup.hpp"

namespace hocket::simulator::astra {

/// What a node does; the comment says which columns it needs.
enum class Action : uint8_t {
  kSkip,        // done as soon as it is issued, without waking its dependents
  kReplay,      // duration
  kRoofline,    // num_ops, tensor_bytes
  kMemory,      // tensor_bytes
  kCollective,  // kind, bytes, priority, group, dimensions, custom
  kBroadcast,   // duration
  kSend,        // bytes, peer, tag
  kReceive,     // bytes, peer, tag
};

/// What a node occupies while it runs, one node at a time each; a receive occupies nothing.
enum class Resource : uint8_t { kProcessor, kAccelerator, kNetwork, kNothing };

/// A graph of nodes per rank, ascending by id: those of rank r are rows `rank_offset[r]..rank_offset[r+1]`.
/// Node k waits for the rows `dependency[dependency_offset[k]..dependency_offset[k+1]]`.
struct Columns {
  std::span<const int64_t> rank_offset;
  std::span<const uint8_t> action, resource, kind;
  std::span<const int64_t> duration_ns, bytes, tag, priority, num_ops, tensor_bytes;
  std::span<const int32_t> peer;
  std::span<const int32_t> group;        // index into the groups, -1: all ranks
  std::span<const int32_t> custom;       // index into the custom collectives, -1: native
  std::span<const uint32_t> dimensions;  // bit d: dimension d takes part
  std::span<const int64_t> dependency_offset, dependency;
};

/// Columns with the dependents of each node. The columns must outlive the program.
class Program : public Columns {
 public:
  /// Throws TraceError when columns differ in length or an index points outside.
  explicit Program(const Columns& columns);

  uint32_t num_nodes() const { return static_cast<uint32_t>(action.size()); }
  int32_t num_ranks() const { return static_cast<int32_t>(rank_offset.size()) - 1; }
  Action action_of(uint32_t node) const { return static_cast<Action>(action[node]); }
  uint32_t waits_of(uint32_t node) const {
    return static_cast<uint32_t>(dependency_offset[node + 1] - dependency_offset[node]);
  }
  std::span<const uint32_t> dependents_of(uint32_t node) const {
    return std::span(dependents_)
        .subspan(dependents_offset_[node], dependents_offset_[node + 1] - dependents_offset_[node]);
  }

 private:
  std::vector<uint32_t> dependents_offset_, dependents_;
};

}  // namespace hocket::simulator::astra
