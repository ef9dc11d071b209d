#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hocket::topology {

/// Exact maximum flows in a network that is built once (Dinic's algorithm, without recursion).
class MaxFlow {
 public:
  /// Wide enough for sums and products of bandwidths.
  using Capacity = __int128;

  explicit MaxFlow(int32_t num_nodes) : arcs_(num_nodes), next_arc_(num_nodes), level_(num_nodes) {}

  void add_arc(int32_t from, int32_t to, Capacity capacity);
  /// The largest flow from `source` to another node `sink`; every call starts from an empty network.
  Capacity run(int32_t source, int32_t sink);
  /// After `run`: whether the node lies on the source's side of the minimum cut nearest to the source.
  bool on_source_side(int32_t node) const { return level_[node] >= 0; }

 private:
  bool find_levels(int32_t source, int32_t sink);
  Capacity blocking_flow(int32_t source, int32_t sink);

  // Arc 2k and its reverse 2k + 1.
  std::vector<int32_t> to_;
  std::vector<Capacity> capacity_, residual_;
  std::vector<std::vector<int32_t>> arcs_;  // that leave a node
  std::vector<size_t> next_arc_;
  std::vector<int32_t> level_, queue_, path_;
};

}  // namespace hocket::topology
