#include "hocket/nccl/model.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "constants.hpp"
#include "hocket/error.hpp"

namespace hocket::nccl {
namespace {

constexpr int32_t kWarp = 32;
constexpr int32_t kMostThreads = 640;
constexpr int32_t kMostSimpleThreads = 512;
constexpr int32_t kOperationsOfBatch = 8;  // collectives of a group that a kernel does in one go

// Of 0 it is -1, as of sizes below the first entry of a table.
int32_t log2_of(int64_t number) { return std::bit_width(static_cast<uint64_t>(number)) - 1; }

// getNthreads: NCCL warns of a number that is no multiple of a warp and takes the most.
int32_t threads_of(int32_t wanted, int32_t least, int32_t most, int32_t usual) {
  if (wanted <= 0) return usual;
  return wanted % kWarp != 0 ? most : std::clamp(wanted, least, most);
}

// ncclTopoGetMinNetBw: of each GPU the NICs that it uses on its channels, which come round after some.
float narrowest_net(const System& system, const Settings& settings) {
  float least = std::numeric_limits<float>::max();
  for (int32_t gpu = 0; gpu < system.count(kGpu) && system.inter; gpu++) {
    const int32_t first = local_net(system, settings, gpu, 0);
    for (int32_t channel = 0; channel < kMostChannels; channel++) {
      const int32_t net = local_net(system, settings, gpu, channel);
      if (channel > 0 && net == first) break;
      least = std::min(least, system.path(kGpu, gpu, kNet, net).bandwidth);
    }
  }
  return least;
}

}  // namespace

// What `initTransportsRank` of src/init.cc does up to ncclTopoTuneModel, for all ranks at once: each rank of NCCL
// searches its own machine and the ranks then agree on the least of all. Machines of a kind are equal, so that the
// parts of one stand for all.
Model::Model(std::span<const MachineKind> kinds, const Settings& settings, const Constants& constants,
             const Given& given)
    : settings_(settings), constants_(constants) {
  std::vector<std::vector<System>> parts;
  count_machines(kinds, parts);
  for (std::vector<System>& of_kind : parts) found_.push_back(find(of_kind, given));
  // CollNet serves only jobs of enough machines (NCCL_COLLNET_NODE_THRESHOLD).
  collnet_ =
      settings.collnet_enable != 0 && collnet_chain().channels > 0 && job_.machines >= settings.collnet_threshold;
  // Rings and trees run on the same channels of the communicator.
  graphs_[kRingGraph].channels = graphs_[kTreeGraph].channels = std::min(ring().channels, tree().channels);
  for (Found& found : found_) {
    for (int32_t id = 0; id < kGraphs; id++) {
      Graph own = graphs_[id];  // but where the channels run
      own.pattern = found.graphs[id].pattern;
      own.gpus = std::move(found.graphs[id].gpus);
      own.nets = std::move(found.graphs[id].nets);
      found.graphs[id] = std::move(own);
    }
  }
  count_heads();
  count_channels();
  for (int32_t f = 0; f < kFunctions; f++) {
    for (int32_t a = 0; a < kAlgorithms; a++) {
      for (int32_t p = 0; p < kProtocols; p++) {
        terms_[f][a][p] = make_term(static_cast<Function>(f), static_cast<Algorithm>(a), static_cast<Protocol>(p));
      }
    }
  }
}

/// Who takes part; and each kind of machine, in the parts that NCCL takes for machines.
void Model::count_machines(std::span<const MachineKind> kinds, std::vector<std::vector<System>>& parts) {
  int32_t hosts = 0;
  for (const MachineKind& kind : kinds) hosts += kind.machines;
  job_ = {};
  job_.least_gpus = job_.least_sm = INT32_MAX;
  job_.least_net = std::numeric_limits<float>::max();
  bool connected = true;
  for (const MachineKind& kind : kinds) {
    if (kind.machines < 1) throw TopologyError("a job has no machine of a kind");
    System system = read_system(kind.elements);
    // Paths twice, as NCCL: with all GPUs, to see which talk without the network; and in `split` with those alone.
    system.inter = hosts > 1;
    compute_paths(system, settings_);
    const std::vector<System>& of_kind = parts.emplace_back(split(system, settings_));
    // NCCL tells the processor's kind by the first one; mixed machines are not told apart.
    const Node& cpu = system.node(kCpu, 0);
    if (parts.size() == 1) {
      job_.arch = cpu.arch;
      job_.vendor = cpu.vendor;
    }
    nvswitch_ = system.count(kNvSwitch) > 0 && (nvswitch_ || parts.size() == 1);
    job_.machines += static_cast<int32_t>(of_kind.size()) * kind.machines;
    job_.ranks += kind.machines * system.count(kGpu);
    for (const int32_t device : system.of[kDevice]) {
      job_.least_sm = std::min(job_.least_sm, system.nodes[device].sm);
      job_.most_sm = std::max(job_.most_sm, system.nodes[device].sm);
    }
    connected = connected && system.count(kNet) > 0;
  }
  if (job_.ranks < 2) throw TopologyError("a job of one GPU runs no collective");
  if (job_.machines > 1 && !connected) {
    throw TopologyError("no <net> in the machine: several are not connected");
  }
}

/// Searches the parts of a kind of machine, and counts with the least of them and of the kinds before.
Model::Found Model::find(std::vector<System>& parts, const Given& given) {
  Found found;
  for (System& part : parts) {
    job_.most_gpus = std::max(job_.most_gpus, part.count(kGpu));
    job_.least_gpus = std::min(job_.least_gpus, part.count(kGpu));
    job_.least_net = std::min(job_.least_net, narrowest_net(part, settings_));
    const Graphs graphs = search_all(part, given);
    tree_pattern_ = std::max(tree_pattern_, graphs[kTreeGraph].pattern);
    const bool is_first = &part == &parts.front();
    if (is_first) {
      found = {graphs, part.count(kGpu), {}};
      for (int32_t gpu = 0; gpu < found.gpus; gpu++) {
        for (int32_t net = 0; net < part.count(kNet); net++) found.relays.push_back(relay(part, gpu, net));
      }
    }
    if (is_first && found_.empty()) graphs_ = graphs;
    merge(graphs_, graphs);
  }
  return found;
}

// Rings first: the trees and CollNet's chains have as many channels as rings were found.
Model::Graphs Model::search_all(System& system, const Given& given) const {
  const auto find = [&](GraphId id, Graph wanted) {
    const auto own = std::ranges::find(given.graphs, id, &std::pair<GraphId, Graph>::first);
    if (own == given.graphs.end()) return search(system, settings_, std::move(wanted));
    const Graph& graph = own->second;
    if (graph.gpus.size() != static_cast<size_t>(graph.channels) * system.of[kGpu].size()) {
      throw TopologyError("the graphs given are not of GPUs that talk without the network");
    }
    return search(system, settings_, std::move(wanted), &graph);
  };
  Graphs graphs;
  // Half of the most, because `count_channels` doubles them.
  graphs[kRingGraph] = find(kRingGraph, {.pattern = kRingPattern, .max_channels = kMostChannels / 2});
  const int32_t rings = graphs[kRingGraph].channels;
  graphs[kTreeGraph] = find(kTreeGraph, {.pattern = kBalancedTree, .min_channels = rings, .max_channels = rings});
  if (settings_.collnet_enable != 0) {
    graphs[kCollNetChainGraph] = find(
        kCollNetChainGraph, {.pattern = kPlainTree, .collnet = true, .min_channels = rings, .max_channels = rings});
    graphs[kCollNetDirectGraph] = find(kCollNetDirectGraph, {.pattern = kCollNetPattern, .collnet = true});
  }
  graphs[kNvlsGraph].pattern = kNvlsPattern;
  const int32_t most_without = settings_.release < 2807 ? 2 : 1;
  const bool multicasts = job_.least_sm >= 90 && system.count(kNvSwitch) > 0 && system.count(kGpu) > most_without;
  if (settings_.nvls_enable != 0 && multicasts) graphs[kNvlsGraph] = find(kNvlsGraph, graphs[kNvlsGraph]);
  return graphs;
}

/// All ranks count with the least that any part of the machine found (`initTransportsRank` of src/init.cc).
void Model::merge(Graphs& graphs, const Graphs& of_part) const {
  for (int32_t id = 0; id < kGraphs; id++) {
    Graph& graph = graphs[id];
    const Graph& other = of_part[id];
    graph.channels = std::min(graph.channels, other.channels);
    graph.same_channels = graph.same_channels && other.same_channels;
    graph.intra = std::min(graph.intra, other.intra);
    graph.inter = std::min(graph.inter, other.inter);
    graph.type_intra = std::max(graph.type_intra, other.type_intra);
    graph.type_inter = std::max(graph.type_inter, other.type_inter);
    graph.cross_nic = std::max(graph.cross_nic, other.cross_nic);
  }
}

/// The GPUs on which channels meet the network (`ncclCollNetSetup` of src/transport/coll_net.cc).
void Model::count_heads() {
  if (!collnet_) return;
  const int32_t gpus = gpus_on(0);
  const auto heads_of = [&](const Graph& graph) {
    std::vector<int32_t> heads;
    for (int32_t channel = 0; channel < graph.channels; channel++) heads.push_back(graph.gpus[channel * gpus]);
    std::ranges::sort(heads);
    heads.erase(std::ranges::unique(heads).begin(), heads.end());
    return heads;
  };
  const std::vector<int32_t> direct = heads_of(collnet_direct());
  const std::vector<int32_t> heads = nvls().channels > 0 ? heads_of(nvls()) : direct;
  direct_heads_ = static_cast<int32_t>(direct.size());
  collnet_heads_ = static_cast<int32_t>(heads.size());
  chain_heads_ = std::ranges::includes(heads, heads_of(collnet_chain()));
}

/// Kernels run on more channels than were found: each is there twice (`ncclTopoPostset` of src/graph/connect.cc).
void Model::count_channels() {
  int32_t channels = std::min(kMostChannels, 2 * ring().channels);
  if (collnet_ && collnet_chain().intra > collnet_chain().inter && job_.ranks > job_.machines) {
    channels = std::min(kMostChannels, channels + channels / 2);
  }
  // Four channels of the kernel for one that was found, to reach the peak with fewer than 8 GPUs a machine (NCCL's
  // words).
  if (job_.least_sm >= 90 && job_.machines > 1 && ring().intra > 45 && channels < 16) channels *= 2;
  // The most first, then the least: both set together repeat the first channels.
  channels = std::min({channels, settings_.max_channels, settings_.max_ctas});
  channels_ = std::max({channels, settings_.min_channels, settings_.min_ctas});
  if (nvls().channels == 0) return;
  nvls_channels_ = settings_.nvls_channels > 0 ? settings_.nvls_channels : count_nvls_channels();
  nvls_channels_ = std::max(settings_.min_ctas, std::min(settings_.max_ctas, nvls_channels_));
  // In 2.27 rings and trees took those of NVLS, too.
  if (settings_.release < 2800) channels_ = std::max(channels_, nvls_channels_);
}

/// NVLS_NCHANNELS_SM90, _SM100 and _SM100_NVL of src/transport/nvls.cc; on several machines of Blackwell from 2.30 on
/// by NICs and GPUs (`ncclNvlsTreeSm100Tuning`).
int32_t Model::count_nvls_channels() const {
  if (job_.least_sm < 100) return 16;
  if (job_.machines == 1) return 24;
  if (settings_.release < 3000 || job_.least_net < 48 || job_.machines == 2) return 32;
  return job_.least_net >= 96 && job_.least_gpus > 8 ? 32 : 24;
}

const Graph& Model::graph_of(Algorithm algorithm) const {
  switch (algorithm) {
    case kRing:
      return ring();
    case kCollNetDirect:
      return collnet_direct();
    case kCollNetChain:
      return collnet_chain();
    case kNvls:
    case kNvlsTree:
      return nvls();
    default:
      return tree();
  }
}

// ncclTopoGetAlgoTime, float for float: two algorithms' times are compared, and where they are close the rounding
// decides.
float Model::time(Function function, Algorithm algorithm, Protocol protocol, int64_t bytes, int32_t operations) const {
  const Term& term = terms_[function][algorithm][protocol];
  if (term.out != Out::kAvailable) return -1;
  float bandwidth = term.bandwidth, latency = term.latency;
  // -1 below 64 bytes.
  const int32_t size = log2_of(bytes >> 6);
  if (function == kAllReduce && size >= 0) {
    const bool of_nvls = settings_.release >= 2900 && job_.least_sm >= 100 && job_.arch == Arch::kX86;
    const bool corrected = algorithm == kTree ? size < 23 : algorithm == kNvlsTree && of_nvls && size < 24;
    if (corrected) bandwidth *= kTreeCorrection[protocol][size];
    const bool plateau = algorithm == kRing && protocol == kSimple && job_.machines > 1;
    if (plateau && bytes / (static_cast<int64_t>(channels_) * job_.ranks) >= 64) {
      latency = static_cast<float>(latency * (job_.least_sm < 80 ? 1.9 : 1.4));
    }
  }
  // Collectives of one group follow each other through the tree's pipeline; a ring pays its latency for each.
  const int32_t latencies =
      algorithm == kRing ? operations : (operations + kOperationsOfBatch - 1) / kOperationsOfBatch;
  return latency * static_cast<float>(latencies) + static_cast<float>(bytes) / (1000 * bandwidth);
}

// NCCL keeps the first of equal times, algorithm by algorithm in its own order; from 2.31 on the last.
Choice Model::choose(Function function, int64_t bytes, int32_t operations) const {
  Choice best{kAlgorithms, kProtocols, 0, 0, 0};
  for (int32_t a = 0; a < kAlgorithms; a++) {
    for (int32_t p = 0; p < kProtocols; p++) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      const float us = time(function, algorithm, protocol, bytes, operations);
      const bool is_first = best.algorithm == kAlgorithms;
      const bool wins = us < best.time || (us == best.time && settings_.release >= 3100);
      if (us >= 0 && (is_first || wins)) best = {algorithm, protocol, us, 0, 0};
    }
  }
  if (best.algorithm == kAlgorithms) {
    throw Infeasible("no algorithm is left for the collective: allow more in NCCL_ALGO or NCCL_PROTO");
  }
  const Launch launch = this->launch(best.algorithm, best.protocol, bytes);
  best.channels = launch.channels;
  best.warps = launch.warps;
  return best;
}

// The second half of topoGetAlgoInfo. The loops stop where every thread has `each` bytes to move.
Launch Model::launch(Algorithm algorithm, Protocol protocol, int64_t bytes) const {
  int32_t threads = most_threads(algorithm, protocol);
  int32_t channels = channels_;
  if (algorithm == kNvls || algorithm == kNvlsTree) {
    const bool over_net = algorithm == kNvls && job_.machines > 1 && settings_.release >= 2800;
    channels = over_net ? std::min(channels_, nvls_channels_) : nvls_channels_;
  } else if (algorithm == kCollNetDirect) {
    channels = collnet_direct_channels(bytes);
  } else {  // small messages use fewer channels, then fewer threads
    const int64_t each = bytes_per_thread(algorithm, protocol);
    while (channels > 1 && bytes < channels * threads * each) channels--;
    while (threads % 128 == 0 && bytes < channels * threads * each) threads /= 2;
  }
  if (algorithm == kRing && protocol == kSimple) threads += kWarp;  // one to synchronize
  if (algorithm == kTree || algorithm == kPat) threads = kMostThreads;
  return {channels, std::max(3, threads / kWarp)};
}

/// Fewer for small messages: down to 16, 8 and so on, each time at half of the bytes a thread. NCCL's loop with
/// `ncSwitch`, 16, 8, 4, 2, 1; at 24 channels on the way to 16, at 12 on the way to 8 and so on the bytes a thread
/// halve.
int32_t Model::collnet_direct_channels(int64_t bytes) const {
  int64_t each = bytes_per_thread(kCollNetDirect, kSimple);
  int32_t channels = channels_;
  // The bytes are shared out among the heads, too.
  const auto is_small = [&] { return bytes < int64_t{channels} * kMostThreads * direct_heads_ * each; };
  for (int32_t least = 16; least >= 1 && is_small(); least /= 2) {
    while (is_small() && channels > least) {
      if (channels == least + least / 2) each /= 2;
      channels--;
    }
  }
  return channels;
}

// comm->maxThreads of ncclTopoTuneModel.
int32_t Model::most_threads(Algorithm algorithm, Protocol protocol) const {
  const bool nvls = algorithm == kNvls || algorithm == kNvlsTree;
  if (algorithm == kPat) return 0;  // counts none, so that it keeps all channels
  if (nvls || algorithm == kCollNetDirect || algorithm == kCollNetChain) return kMostThreads;
  if (protocol == kLl128) return threads_of(settings_.ll128_threads, kMostThreads / 4, kMostThreads, kMostThreads);
  const bool slow = settings_.release < 3100 && algorithm == kRing && protocol == kSimple &&
                    ring().intra * static_cast<float>(ring().channels) <= 12;  // PCI Gen3
  return threads_of(settings_.threads, 2 * kWarp, kMostSimpleThreads, slow ? 256 : kMostSimpleThreads);
}

// comm->threadThresholds: NCCL_LL_THREAD_THRESHOLD and its like; a ring's LL counts for each rank.
int64_t Model::bytes_per_thread(Algorithm algorithm, Protocol protocol) const {
  if (algorithm <= kRing && settings_.thread_thresholds[algorithm][protocol] >= 0) {
    return settings_.thread_thresholds[algorithm][protocol];
  }
  if (algorithm == kCollNetDirect || algorithm == kCollNetChain) return 512;
  if (protocol == kSimple) return 64;
  return protocol == kLl && algorithm == kRing ? 8 * job_.ranks : 8;
}

}  // namespace hocket::nccl
