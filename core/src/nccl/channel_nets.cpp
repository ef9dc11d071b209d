// How the search goes out by NICs and comes in by them: which it tries, in which order, and what they have left.
#include <algorithm>
#include <utility>

#include "channels.hpp"

namespace hocket::nccl {
namespace {

// Of the first attempt in the order of the file, which counts against no limit.
constexpr int64_t kPciOrderSteps = 1 << 10;

}  // namespace

// Channel c begins with the c-th NIC, so that the NICs are shared out evenly before one is used twice.
void ChannelSearch::next_channel_from_net(Turns turns) {
  const auto whole = static_cast<float>(static_cast<int>(graph_->inter));  // NCCL counts NICs' bandwidth in whole GB/s
  const std::vector<int32_t>& nets = choose_nets(graph_->type_inter, -1);
  const bool heads = graph_->pattern == kNvlsPattern || graph_->pattern == kCollNetPattern;
  const int32_t channel = graph_->channels;
  for (size_t i = 0; i < nets.size(); i++) {
    const int32_t net = nets[(static_cast<size_t>(channel) + i) % nets.size()];
    const Node& node = system_.node(kNet, net);
    if (graph_->collnet && !node.collnet) continue;
    // The NIC's own bandwidth is counted besides its links': all ports of a card share it (`use_card`).
    if (node.bandwidth < whole) continue;
    // Channels in pairs: the second enters where the first left, and `may_leave_by` has it leave where the first
    // entered.
    if (graph_->pattern == kRingPattern && graph_->cross_nic == 2 && channel % 2 == 1 &&
        net != net_of(channel - 1, 1)) {
      continue;
    }
    net_of(channel, 0) = net;
    graph_->latency = node.latency;
    use_card(node, -whole);
    bool found = false;
    if (heads) {
      found = channel < static_cast<int32_t>(nets.size()) && head_at_net(net, turns);
    } else {
      start_at_net(net, turns);
    }
    use_card(node, whole);
    if (found) break;
  }
}

/// Adds to the bandwidth left of all ports of a card's port.
void ChannelSearch::use_card(const Node& like, float bandwidth) {
  for (const int32_t number : system_.of[kNet]) {
    Node& net = system_.nodes[number];
    if (net.asic == like.asic && net.port == like.port) net.bandwidth += bandwidth;
  }
}

/// NVLS and CollNetDirect look for heads alone: each the GPU next to a NIC, each GPU once. Returns whether it is one.
bool ChannelSearch::head_at_net(int32_t net, Turns turns) {
  const int32_t gpu = system_.node(kNet, net).local_gpu;
  if (gpu == -1) return false;
  for (int32_t channel = 0; channel < graph_->channels; channel++) {
    if (graph_->gpus[static_cast<size_t>(channel * gpus())] == gpu) return false;
  }
  enter({kNet, net}, gpu, 0, turns, Order::kFree);
  return true;
}

// A channel enters by the GPU that is nearest to the NIC: `nearest` gives those at the highest bandwidth and none
// farther.
void ChannelSearch::start_at_net(int32_t net, Turns turns) {
  const End from{kNet, net};
  if (graph_->channels > 0 && graph_->same_channels) {
    enter(from, replayed(-1), 0, turns, Order::kReplay);
    return;
  }
  if (graph_->channels == 0 && system_.count(kNvSwitch) == 0) {
    int64_t few = kPciOrderSteps;
    // The first attempt, in the file's order, has steps of its own: it gives a reference and must not use up the
    // others'. Only "perfect" comes back from it.
    std::swap(steps_, few);
    enter(from, 0, 0, turns, Order::kPci);
    std::swap(steps_, few);
    if (few == -1) steps_ = -1;
  }
  const int32_t local = system_.node(kNet, net).local_gpu;
  if (local != -1) enter(from, local, 0, turns, Order::kFree);
  for (const int32_t gpu : nearest(system_, kNet, net, kGpu)) {
    if (gpu != local) enter(from, gpu, 0, turns, Order::kFree);
  }
}

// Asked for at every visit of the search and the same all along, for the paths do not change: kept by distance and GPU.
const std::vector<int32_t>& ChannelSearch::choose_nets(int32_t farthest, int32_t gpu) {
  std::vector<int32_t>& nets = nets_[static_cast<size_t>((farthest + 1) * (gpus() + 1) + gpu + 1)];
  if (nets.empty()) nets = list_nets(farthest, gpu);
  return nets;
}

// The preferred ones first; then, unless a policy limits their number, all others near enough, by distance and then
// GPU.
std::vector<int32_t> ChannelSearch::list_nets(int32_t farthest, int32_t gpu) const {
  const int32_t begin = gpu == -1 ? 0 : gpu, end = gpu == -1 ? gpus() : gpu + 1;
  std::vector<int32_t> chosen = preferred_nets(begin, end);
  const auto add = [&](int32_t net) {
    if (std::ranges::find(chosen, net) == chosen.end()) chosen.push_back(net);
  };
  size_t most = system_.of[kNet].size();
  if (settings_.net_devices == NetDevices::kAtMost && settings_.release >= 2800) {
    most = std::min(most, static_cast<size_t>(settings_.most_net_devices * (end - begin)));
  }
  for (int32_t type = 0; type <= farthest; type++) {
    for (int32_t each = begin; each < end; each++) {
      for (int32_t net = 0; net < std::min(system_.count(kNet), kMostChannels) && chosen.size() < most; net++) {
        if (system_.path(kGpu, each, kNet, net).type == type) add(net);
      }
    }
  }
  return chosen;
}

/// The NETs that the GPUs from `begin` to `end` use on their channels: GPU by GPU, or channel by channel where hosts
/// are many, so that all of these take part.
std::vector<int32_t> ChannelSearch::preferred_nets(int32_t begin, int32_t end) const {
  // A GPU's NICs come round after as many channels as it may use: the first that repeats ends the list.
  std::vector<std::vector<int32_t>> of_gpu;
  size_t most = 0;
  for (int32_t gpu = begin; gpu < end; gpu++) {
    std::vector<int32_t>& own = of_gpu.emplace_back(1, local_net(system_, settings_, gpu, 0));
    for (int32_t channel = 1; channel < kMostChannels; channel++) {
      const int32_t net = local_net(system_, settings_, gpu, channel);
      if (net == own[0]) break;
      own.push_back(net);
    }
    most = std::max(most, own.size());
  }
  std::vector<int32_t> nets;
  const auto add = [&](int32_t net) {
    if (std::ranges::find(nets, net) == nets.end()) nets.push_back(net);
  };
  if (system_.hosts == 1) {
    for (const std::vector<int32_t>& own : of_gpu) std::ranges::for_each(own, add);
    return nets;
  }
  for (size_t channel = 0; channel < most; channel++) {
    for (const std::vector<int32_t>& own : of_gpu) {
      if (channel < own.size()) add(own[channel]);
    }
  }
  return nets;
}

}  // namespace hocket::nccl
