#include "channels.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace hocket::nccl {
namespace {

/// Keeps thousandths, without which many subtractions would not come back to where they began.
/// A link that is taken from and given back to thousands of times must end where it began: the next channel compares
/// what is left of it with a speed. NCCL rounds at the same place (SUB_ROUND of src/graph/search.cc).
float less(float from, float amount) { return std::roundf((from - amount) * 1000) / 1000; }

}  // namespace

// What the search does, in NCCL's names (src/graph/search.cc of 2.30.7); every function here that has a counterpart
// keeps its order of attempts, because the first of equally good solutions wins and because the steps run out:
//   next_channel            ncclTopoSearchRec             enter          ncclTopoSearchTryGpu
//   next_channel_from_net   ncclTopoSearchRecNet          visit          ncclTopoSearchRecGpu
//   choose_nets             ncclTopoSelectNets            take           ncclTopoFollowPath
//   next_gpus               ncclTopoSearchNextGpuSort     follow         followPath
//   may_leave_by            ncclTopoSearchCheckNet        improves       ncclTopoCompareGraphs
//   head_nvls, head_collnet ncclTopoSearchTryNvls, ncclTopoSearchTryCollnetDirect
//   replayed                ncclTopoReplayGetGpu          pci_bandwidth  gpuPciBw
ChannelSearch::ChannelSearch(System& system, const Settings& settings)
    : system_(system),
      settings_(settings),
      used_(system.of[kGpu].size(), 0),
      nets_((kDisconnected + 2) * (system.of[kGpu].size() + 1)) {}

// Invariant of the recursion: whatever a call takes from links, NICs and `used_` it gives back before it returns, so
// that each branch sees the machine as its ancestors left it and the machine is whole again at the end.
int64_t ChannelSearch::run(Graph& wanted, Graph& best, int64_t steps) {
  graph_ = &wanted;
  best_ = &best;
  steps_ = steps;
  graph_->channels = 0;
  graph_->gpus.resize(static_cast<size_t>(kMostChannels * gpus()));
  graph_->nets.resize(2 * kMostChannels);
  next_channel();
  return steps_;
}

/// Takes `bandwidth` from the first `steps` links of a path, or gives it back when negative; returns how many links had
/// as much.
/// Through an Intel CPU the path's PCI links are charged a fifth more (INTEL_P2P_OVERHEAD). Two kinds of links carry
/// something back as well: one into a GPU before Ampere, of what comes from anything but a GPU, an eighth; and NVLink
/// into a Power CPU all of it.
size_t ChannelSearch::follow(const Path& path, const Node& start, size_t steps, float bandwidth) {
  float over_pci = bandwidth;
  if (path.type == kPhb && start.type == kGpu) {
    for (const int32_t id : path.links) {
      const Node& node = system_.nodes[system_.links[id].to];
      // Intel's CPUs cut what GPUs send each other into small packets.
      if (node.type == kCpu && node.arch == Arch::kX86 && node.vendor == Vendor::kIntel) over_pci = bandwidth * 6 / 5;
    }
  }
  for (size_t step = 0; step < steps; step++) {
    Link& link = system_.links[path.links[step]];
    const Node& far = system_.nodes[link.to];
    // kPix is the type of every PCI link; that paths of one are called PIX is NCCL's shorthand.
    const float forth = link.type == kPix ? over_pci : bandwidth;
    float back = 0;
    if (far.type == kDevice && far.sm < 80 && start.type != kGpu) back += forth / 8;
    if (far.type == kCpu && far.arch == Arch::kPower && link.type == kNvl) back += forth;
    Link* reverse = nullptr;
    if (back != 0) {
      // Always there: `set_paths` goes only over links that have one back.
      const auto found = std::ranges::find_if(far.links, [&](int32_t id) {
        return system_.links[id].to == link.from && system_.links[id].type == link.type;
      });
      reverse = &system_.links[*found];
    }
    if (link.bandwidth < forth || (reverse != nullptr && reverse->bandwidth < back)) return step;
    link.bandwidth = less(link.bandwidth, forth);
    if (reverse != nullptr) reverse->bandwidth = less(reverse->bandwidth, back);
  }
  return steps;
}

/// Whether the channel can go on to `to`: then `times` its bandwidth is taken on the way.
/// NVLS and CollNet take other multiples than one and are not asked how far the path is: the graph's types are a wish
/// about rings and trees (ncclTopoFollowPath tests `mult == 1`).
bool ChannelSearch::take(End from, End to, float times) {
  if (from.index < 0) return true;
  const bool inside = from.type != kNet && to.type != kNet;
  const int32_t farthest = inside ? graph_->type_intra : graph_->type_inter;
  const Path& path = system_.path(from.type, from.index, to.type, to.index);
  if (path.type >= kDisconnected) return false;
  if (times == 1) {  // NCCL looks only where a channel goes once
    const Pattern pattern = graph_->pattern;
    const bool both_ways = pattern == kBalancedTree || pattern == kSplitTree || pattern == kPlainTree;
    if (path.type > farthest) return false;
    if (both_ways && system_.path(to.type, to.index, from.type, from.index).type > farthest) return false;
  }
  const Node& start = system_.node(from.type, from.index);
  const float bandwidth = (inside ? graph_->intra : graph_->inter) * times;
  const size_t reached = follow(path, start, path.links.size(), bandwidth);
  if (reached < path.links.size()) {
    follow(path, start, reached, -bandwidth);
    return false;
  }
  graph_->hops = static_cast<int32_t>(static_cast<float>(graph_->hops) + times * static_cast<float>(path.links.size()));
  return true;
}

void ChannelSearch::give_back(End from, End to, float times) {
  if (from.index < 0) return;
  const Path& path = system_.path(from.type, from.index, to.type, to.index);
  const bool inside = from.type != kNet && to.type != kNet;
  const float bandwidth = (inside ? graph_->intra : graph_->inter) * times;
  follow(path, system_.node(from.type, from.index), path.links.size(), -bandwidth);
  graph_->hops = static_cast<int32_t>(static_cast<float>(graph_->hops) - times * static_cast<float>(path.links.size()));
}

// Bit `channels` of `used_` is this channel's: at most kMostChannels of them, which is 64.
void ChannelSearch::enter(End from, int32_t gpu, int32_t step, Turns turns, Order order) {
  const uint64_t mark = uint64_t{1} << graph_->channels;
  if (!take(from, {kGpu, gpu}, 1)) return;
  used_[gpu] ^= mark;
  visit(gpu, step, turns, order);
  used_[gpu] ^= mark;
  give_back(from, {kGpu, gpu}, 1);
}

// A channel is whole. That the next one is tried even where this set was no better is what finds sets of more channels;
// maximal sets end everything (steps -1: NCCL's "perfect").
void ChannelSearch::finish() {
  graph_->channels++;
  if (improves()) {
    *best_ = *graph_;
    if (graph_->channels == graph_->max_channels) steps_ = -1;
  }
  if (graph_->channels < graph_->max_channels) next_channel();
  graph_->channels--;
}

// Bandwidth first, in sum over channels; then hops, of alike patterns only. NVLS counts heads, each of which pulls its
// own part, or the bandwidth to the network.
bool ChannelSearch::improves() const {
  const Graph &found = *graph_, &best = *best_;
  if (found.channels < found.min_channels) return false;
  const auto channels = static_cast<float>(found.channels), best_channels = static_cast<float>(best.channels);
  if (found.pattern == kNvlsPattern) {
    return (found.channels > best.channels && found.channels <= gpus()) ||
           channels * found.inter > best_channels * best.inter;
  }
  if (channels * found.intra != best_channels * best.intra) return channels * found.intra > best_channels * best.intra;
  return found.pattern == best.pattern && found.cross_nic == best.cross_nic && found.hops < best.hops;
}

// One step of the depth-first search: `gpu` is the `step`-th of the channel. Without the limit of steps it would be
// exponential (8! orders of 8 GPUs, for each channel); with it, it costs at most `steps_` visits of O(gpus log gpus).
void ChannelSearch::visit(int32_t gpu, int32_t step, Turns turns, Order order) {
  if (steps_ <= 0) return;
  steps_--;
  // `gpu` is -1 where NVLS and CollNet come here: they look for heads, and no path leads through the machine.
  if (step == gpus()) {
    finish();
    return;
  }
  gpu_at(step) = gpu;
  if (step == turns.to_net) {
    if (system_.inter) leave_to_net(gpu, step, turns, order);
  } else if (graph_->pattern == kNvlsPattern) {
    head_nvls(gpu);
  } else if (graph_->pattern == kCollNetPattern) {
    head_collnet(gpu);
  } else if (step < gpus() - 1) {
    std::vector<int32_t> next{step + 1};
    if (order == Order::kReplay) next = {replayed(step)};
    if (order == Order::kFree) {
      // A channel that goes back to the network from the very next GPU wants one near the NIC there; one that does so
      // later keeps those for then, if all else is equal.
      next = next_gpus(gpu, turns.to_net == -1 ? 0 : turns.to_net == step + 1 ? 1 : -1);
    }
    for (const int32_t far : next) enter({kGpu, gpu}, far, step + 1, turns, order);
  } else if (step == turns.to_first) {
    const int32_t first = gpu_at(0);
    if (take({kGpu, gpu}, {kGpu, first}, 1)) {
      visit(first, step + 1, {turns.to_net, -1}, order);
      give_back({kGpu, gpu}, {kGpu, first}, 1);
    }
  } else {
    visit(gpu, gpus(), {-1, -1}, order);
  }
}

// The GPU stays the same: going out to the NIC takes a step of the search, not one of the channel.
void ChannelSearch::leave_to_net(int32_t gpu, int32_t step, Turns turns, Order order) {
  const Node& start = system_.node(kNet, net_of(graph_->channels, 0));
  for (const int32_t net : choose_nets(graph_->type_inter, gpu)) {
    if (!may_leave_by(start, system_.node(kNet, net), step)) continue;
    // A balanced tree meets the network at its first two GPUs, with half of the bandwidth each.
    const bool halves = graph_->pattern == kBalancedTree;
    const float whole = graph_->inter;
    if (halves) graph_->inter = whole / 2;
    const bool taken = take({kGpu, gpu}, {kNet, net}, 1);
    graph_->inter = whole;
    if (!taken) continue;
    net_of(graph_->channels, 1) = net;
    visit(gpu, step, {halves && step == 0 ? 1 : -1, turns.to_first}, order);
    if (halves) graph_->inter = whole / 2;
    give_back({kGpu, gpu}, {kNet, net}, 1);
    graph_->inter = whole;
  }
}

/// Whether a channel that came in by `start` may leave by `net` after `step` GPUs.
/// Rails keep traffic of one NIC on one switch of the fabric; without names of rails the card and port stand for them.
/// Networking planes never meet, whatever NCCL_CROSS_NIC says. Before 2.30.7 neither had names.
bool ChannelSearch::may_leave_by(const Node& start, const Node& net, int32_t step) const {
  const bool has_names = settings_.release >= 3007;
  if (has_names && net.plane != -1 && start.plane != -1 && net.plane != start.plane) return false;
  const bool same = &net == &start;
  if (graph_->pattern == kPlainTree && !same) return false;
  const int32_t channel = graph_->channels;
  if (graph_->pattern == kRingPattern && graph_->cross_nic == 2) {
    // Every second channel is the one before turned around.
    if (channel % 2 == 1 && net.index != net_of(channel - 1, 0)) return false;
  } else if (graph_->cross_nic == 0) {
    const bool rails = has_names && net.rail != -1 && start.rail != -1;
    if (rails ? net.rail != start.rail : net.asic != start.asic || net.port != start.port) return false;
  }
  return graph_->pattern != kBalancedTree || step == 0 || net.index == net_of(channel, 1);
}

/// Whether every GPU can send to and receive from the NVSwitches as fast as is wanted, the head twice as fast.
/// Taken from all GPUs at once for each head, since every GPU's part of the head's data goes through the switches.
void ChannelSearch::head_nvls(int32_t head) {
  const End nvswitch{kNvSwitch, 0};
  const auto times = [&](int32_t gpu) { return gpu == head ? 2.0f : 1.0f; };
  int32_t received = 0, sent = 0;
  while (received < gpus() && take(nvswitch, {kGpu, received}, times(received))) received++;
  if (received == gpus()) {
    while (sent < gpus() && take({kGpu, sent}, nvswitch, times(sent))) sent++;
    if (sent == gpus()) visit(-1, gpus(), {-1, -1}, Order::kFree);
    while (sent-- > 0) give_back({kGpu, sent}, nvswitch, times(sent));
  }
  while (received-- > 0) give_back(nvswitch, {kGpu, received}, times(received));
}

/// Whether the head can send to and receive from every GPU its part of what is wanted.
/// A head gives each other GPU, and gets from it, one (gpus - 1)-th: NCCL counts the head itself among the receivers,
/// too (its path to itself is empty and costs nothing).
void ChannelSearch::head_collnet(int32_t head) {
  const End own{kGpu, head};
  const float part = 1.0f / static_cast<float>(gpus() - 1);
  int32_t sent = 0, received = 0;
  while (sent < gpus() && take(own, {kGpu, sent}, part)) sent++;
  if (sent == gpus()) {
    while (received < gpus() && take({kGpu, received}, own, part)) received++;
    if (received == gpus()) {
      int32_t step = 0;
      for (int32_t gpu = 0; gpu < gpus(); gpu++) {
        if (gpu != head) gpu_at(++step) = gpu;
      }
      visit(-1, gpus(), {-1, -1}, Order::kFree);
    }
    while (received-- > 0) give_back({kGpu, received}, own, part);
  }
  while (sent-- > 0) give_back(own, {kGpu, sent}, part);
}

// What is left of the GPU's own PCI link, both ways: the next GPU to try is one whose link is not spent yet. Truncated
// to whole GB/s where it is compared.
float ChannelSearch::pci_bandwidth(int32_t gpu) const {
  for (const int32_t id : system_.nodes[system_.node(kGpu, gpu).parent].links) {
    const Link& up = system_.links[id];
    if (up.type != kPix) continue;
    for (const int32_t other : system_.nodes[up.to].links) {
      if (system_.links[other].to == up.from) return std::min(up.bandwidth, system_.links[other].bandwidth);
    }
  }
  return -1;
}

/// The GPUs to go on to, best first; `sort_by_net` 1: near the NIC first, -1: last, 0: regardless.
/// The order decides what is found before the steps run out: nearest to the NIC by bandwidth, its own PCI link, hops;
/// then to the present GPU by bandwidth and hops; then round the machine from the present GPU on.
std::vector<int32_t> ChannelSearch::next_gpus(int32_t gpu, int sort_by_net) const {
  const uint64_t mark = uint64_t{1} << graph_->channels;
  // To minimize; NCCL compares bandwidths as whole GB/s.
  using Score = std::tuple<int, int, size_t, int, size_t, int32_t, int32_t>;
  std::vector<Score> scores;
  for (int32_t ahead = 1; ahead < gpus(); ahead++) {
    const int32_t far = (gpu + ahead) % gpus();
    const Path& path = system_.path(kGpu, gpu, kGpu, far);
    if (path.links.empty() || (used_[far] & mark) != 0) continue;
    Score score{0, 0, 0, -static_cast<int>(path.bandwidth), path.links.size(), ahead, far};
    if (sort_by_net != 0) {
      const Path& in = system_.path(kNet, net_of(graph_->channels, 0), kGpu, far);
      std::get<0>(score) = -static_cast<int>(in.bandwidth);
      std::get<1>(score) = -static_cast<int>(pci_bandwidth(far));
      std::get<2>(score) = in.links.size();
    }
    scores.push_back(score);
  }
  std::ranges::sort(scores);
  // GPUs that this one reaches equally well: the reverse order leaves those near the NIC to the end, where the channel
  // meets the network.
  const bool all_alike = std::ranges::all_of(scores, [&](const Score& score) {
    return std::get<3>(score) == std::get<3>(scores[0]) && std::get<4>(score) == std::get<4>(scores[0]);
  });
  if (sort_by_net == -1 && all_alike) std::ranges::reverse(scores);
  std::vector<int32_t> next;
  for (const Score& score : scores) next.push_back(std::get<6>(score));
  if (system_.count(kNvSwitch) != 0) neighbours_first(gpu, next);
  return next;
}

/// NVSwitches do best when every GPU talks to few others: only neighbours are tried.
/// At most two branches a step: behind switches all orders cost the same, and trying the many that are alike would only
/// burn steps. NCCL moves each preferred neighbour to the front and keeps only those, so that the last of `first` is
/// tried first.
void ChannelSearch::neighbours_first(int32_t gpu, std::vector<int32_t>& next) const {
  const int32_t before = (gpu - 1 + gpus()) % gpus(), after = (gpu + 1) % gpus();
  std::vector<int32_t> first{after};
  if (graph_->pattern == kRingPattern) first = {after, before};
  if (graph_->pattern == kSplitTree || graph_->pattern == kBalancedTree) first = {before, after};
  if (before == after) first.resize(1);
  std::vector<int32_t> kept;
  for (const int32_t neighbour : first) {
    if (std::ranges::find(next, neighbour) != next.end()) kept.insert(kept.begin(), neighbour);
  }
  next = std::move(kept);
}

/// The GPU of the channel before, one after `step`.
int32_t ChannelSearch::replayed(int32_t step) const {
  return graph_->gpus[static_cast<size_t>((graph_->channels - 1) * gpus() + step + 1)];
}

// Where a ring meets the network again: at its last GPU; a split tree at its second, so that two GPUs share the NIC's
// traffic; all others at the first (ncclTopoSearchParams).
void ChannelSearch::next_channel() {
  const bool ring = graph_->pattern == kRingPattern;
  if (system_.inter) {
    next_channel_from_net({ring ? gpus() - 1 : graph_->pattern == kSplitTree ? 1 : 0, -1});
    return;
  }
  const Turns turns{-1, ring ? gpus() - 1 : -1};
  const End nowhere{kGpu, -1};
  if (graph_->pattern == kNvlsPattern) {
    enter(nowhere, graph_->channels, 0, turns, Order::kFree);
    return;
  }
  // The file's order, which follows the PCI tree, is a sound first answer; a copy of the channel before is likely to
  // fit as well.
  if (graph_->channels == 0) {
    enter(nowhere, 0, 0, turns, Order::kPci);
  } else {
    enter(nowhere, replayed(-1), 0, turns, Order::kReplay);
  }
  if (graph_->same_channels && graph_->channels > 0) return;
  for (int32_t gpu = 0; gpu < gpus(); gpu++) enter(nowhere, gpu, 0, turns, Order::kFree);
}

}  // namespace hocket::nccl
