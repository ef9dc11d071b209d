#include <vector>

#include "phase.hpp"

namespace hocket::simulator::astra {
namespace {

/// A collective given as a graph per position in the group. All nodes that can run do so at once.
/// CustomAlgorithm of the peer, which runs MSCCL's algorithms as Chakra graphs: no resources, no endpoint delay, sizes
/// from the graph and not from the workload's node.
class Custom final : public Phase {
 public:
  Custom(const Program& graph, int32_t position, const Group* group, const Endpoint& endpoint)
      : graph_(graph),
        first_(static_cast<uint32_t>(graph.rank_offset[position])),
        last_(static_cast<uint32_t>(graph.rank_offset[position + 1])),
        group_(group),
        endpoint_(endpoint) {}

  void start() override {
    for (uint32_t node = first_; node < last_; node++) {
      waits_.push_back(graph_.waits_of(node));
    }
    left_ = last_ - first_;
    // All counts first: what is issued may end at once and count down.
    std::vector<uint32_t> ready;
    for (uint32_t node = first_; node < last_; node++) {
      if (waits_[node - first_] == 0) ready.push_back(node);
    }
    for (const uint32_t node : ready) issue(node);
  }

  void custom_node_done(uint32_t node) override {
    for (const uint32_t dependent : graph_.dependents_of(node)) {
      if (--waits_[dependent - first_] == 0) issue(dependent);
    }
    if (--left_ == 0) endpoint_.finish();
  }

 private:
  void issue(uint32_t node) {
    const int32_t peer = group_ && graph_.peer[node] >= 0 ? group_->ranks[graph_.peer[node]] : graph_.peer[node];
    const auto tag = static_cast<uint32_t>(graph_.tag[node]);
    switch (graph_.action_of(node)) {
      case Action::kSend:
        return endpoint_.send_tagged(node, tag, peer, graph_.bytes[node]);
      case Action::kReceive:
        return endpoint_.receive_tagged(node, tag, peer, graph_.bytes[node]);
      default:
        return endpoint_.compute(node, graph_.duration_ns[node]);
    }
  }

  const Program& graph_;
  uint32_t first_, last_;
  const Group* group_;
  Endpoint endpoint_;
  std::vector<uint32_t> waits_;
  uint32_t left_ = 0;
};

}  // namespace

std::unique_ptr<Phase> make_custom_phase(const Program& graph, int32_t position, const Group* group,
                                         const Endpoint& endpoint) {
  return std::make_unique<Custom>(graph, position, group, endpoint);
}

}  // namespace hocket::simulator::astra
