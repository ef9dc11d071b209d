#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "hocket/simulator/astra/program.hpp"
#include "hocket/simulator/astra/simulate.hpp"

namespace hocket::simulator::astra {

struct Engine;

/// Runs every rank's graph: whenever something is done, the nodes that can start do so in ascending order, as far as
/// their resource is free.
/// Compare Workload::issue_dep_free_nodes and HardwareResource of the peer: a CPU, a GPU and a communication slot a
/// rank, so at most one collective of a rank runs at a time.
class Workload {
 public:
  explicit Workload(Engine& engine);

  void start(int32_t rank);
  void node_done(uint32_t node);
  void stream_done(uint32_t node);

  /// Whether a callback runs in a rank's own event; otherwise a message's arrival runs it.
  bool in_rank_event = false;

  std::vector<Nanoseconds> finish_ns, compute_ns;
  std::vector<uint8_t> progress;
  std::vector<int64_t> first_stream;
  std::vector<int32_t> crashed;

 private:
  using Ready = std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>>;
  static constexpr int kNumResources = 4;

  struct Rank {
    std::array<Ready, kNumResources> ready;  // by resource
    std::array<bool, kNumResources> busy{};
    int64_t left = 0;  // nodes that are not done
    bool breaks_statistics = false;
  };

  void issue_ready(int32_t rank);
  void issue(int32_t rank, uint32_t node);
  void release(int32_t rank, uint32_t node);
  void finish_if_done(int32_t rank);
  void compute(int32_t rank, uint32_t node, Nanoseconds duration);
  Nanoseconds roofline_duration(uint32_t node) const;

  Engine& engine_;
  std::vector<Rank> ranks_;
  std::vector<int32_t> rank_of_;
  std::vector<uint32_t> waits_;
  std::vector<int64_t> streams_left_;
  std::vector<uint32_t> freed_;  // nodes that became ready while others are being issued
};

}  // namespace hocket::simulator::astra
