#pragma once

#include <cstdint>
#include <vector>

#include "hocket/nccl/search.hpp"

namespace hocket::nccl {

/// The exhaustive part of the search: channel after channel by depth first, each taking its bandwidth away from the
/// links that it goes over.
/// Answers are NCCL's own because the order of attempts, the float arithmetic and the steps are: a better order would
/// find other channels than NCCL runs on. docs/nccl-model.md says what was held against NCCL's code.
class ChannelSearch {
 public:
  /// The system must outlive this; its bandwidths are back as they were after each `run`.
  ChannelSearch(System& system, const Settings& settings);

  /// Puts into `best` the channels that fulfil `wanted` where they are better. Returns the steps left of `steps`, 0
  /// when they did not suffice, -1 when there is no better.
  int64_t run(Graph& wanted, Graph& best, int64_t steps);

  /// The NETs that a GPU may use in the order in which to try them, of all GPUs for -1; with `farthest` -1 only the
  /// preferred ones.
  const std::vector<int32_t>& choose_nets(int32_t farthest, int32_t gpu);

 private:
  // Which GPU a channel goes to next: any, best first; the next in the file; the one of the channel before.
  enum class Order { kFree, kPci, kReplay };
  struct End {
    NodeType type;
    int32_t index;  ///< -1: none, the channel begins at a GPU
  };
  /// Where a channel meets the network or closes, counted in GPUs; -1: nowhere.
  struct Turns {
    int32_t to_net;
    int32_t to_first;
  };

  // `take` and `give_back` are each other's inverse: both add to `hops` and take from the links `times` the graph's
  // speed.
  bool take(End from, End to, float times);
  void give_back(End from, End to, float times);
  // Returns where it got stuck, so that the caller can give back exactly what was taken.
  size_t follow(const Path& path, const Node& start, size_t steps, float bandwidth);
  std::vector<int32_t> list_nets(int32_t farthest, int32_t gpu) const;
  std::vector<int32_t> preferred_nets(int32_t begin, int32_t end) const;
  void next_channel();
  void next_channel_from_net(Turns turns);
  void start_at_net(int32_t net, Turns turns);
  void enter(End from, int32_t gpu, int32_t step, Turns turns, Order order);
  void visit(int32_t gpu, int32_t step, Turns turns, Order order);
  void leave_to_net(int32_t gpu, int32_t step, Turns turns, Order order);
  void head_nvls(int32_t head);
  void head_collnet(int32_t head);
  void finish();
  bool improves() const;
  bool may_leave_by(const Node& start, const Node& net, int32_t step) const;
  std::vector<int32_t> next_gpus(int32_t gpu, int sort_by_net) const;
  void neighbours_first(int32_t gpu, std::vector<int32_t>& next) const;
  float pci_bandwidth(int32_t gpu) const;
  int32_t replayed(int32_t step) const;
  bool head_at_net(int32_t net, Turns turns);
  void use_card(const Node& like, float bandwidth);

  int32_t gpus() const { return system_.count(kGpu); }
  int32_t& gpu_at(int32_t step) { return graph_->gpus[static_cast<size_t>(graph_->channels * gpus() + step)]; }
  int32_t& net_of(int32_t channel, int32_t side) { return graph_->nets[static_cast<size_t>(channel * 2 + side)]; }
  int32_t net_of(int32_t channel, int32_t side) const { return graph_->nets[static_cast<size_t>(channel * 2 + side)]; }

  System& system_;
  const Settings& settings_;
  std::vector<uint64_t> used_;              // by which channels, of each GPU
  std::vector<std::vector<int32_t>> nets_;  // `choose_nets` of each distance and GPU, as they are first asked for
  Graph* graph_ = nullptr;
  Graph* best_ = nullptr;
  int64_t steps_ = 0;
};

}  // namespace hocket::nccl
