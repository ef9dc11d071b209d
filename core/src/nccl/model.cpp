#include "hocket/nccl/model.hpp"

#include <algorithm>
#include <bit>

#include "constants.hpp"
#include "hocket/error.hpp"

namespace hocket::nccl {
namespace {

constexpr int32_t kWarp = 32;
constexpr int32_t kMostThreads = 640;
constexpr int32_t kMostSimpleThreads = 512;

int32_t log2_of(int64_t number) { return std::bit_width(static_cast<uint64_t>(number)) - 1; }

int32_t threads_of(int32_t wanted, int32_t least, int32_t most, int32_t usual) {
  if (wanted <= 0) return usual;
  return wanted % kWarp != 0 ? most : std::clamp(wanted, least, most);
}

}  // namespace

Model::Model(std::span<const Element> elements, int32_t machines, const Settings& settings, const Constants& constants)
    : settings_(settings), constants_(constants) {
  System system = read_system(elements);
  system.inter = machines > 1;
  if (system.inter && system.count(kNet) == 0)
    throw TopologyError("no <net> in the machine: several are not connected");
  compute_paths(system, settings);
  const Node& cpu = system.node(kCpu, 0);
  job_ = {machines, system.count(kGpu), system.node(kDevice, 0).sm, system.node(kDevice, 0).sm, cpu.arch, cpu.vendor};
  for (const int32_t device : system.of[kDevice]) {
    job_.least_sm = std::min(job_.least_sm, system.nodes[device].sm);
    job_.most_sm = std::max(job_.most_sm, system.nodes[device].sm);
  }
  if (job_.ranks() < 2) throw TopologyError("a job of one GPU runs no collective");
  ring_ = search(system, settings, {.pattern = kRingPattern, .max_channels = kMostChannels / 2});
  tree_ = search(system, settings,
                 {.pattern = kBalancedTree, .min_channels = ring_.channels, .max_channels = ring_.channels});
  nvls_.pattern = kNvlsPattern;
  const bool multicasts = job_.least_sm >= 90 && system.count(kNvSwitch) > 0 && job_.gpus > 1;
  if (settings.nvls_enable != 0 && multicasts) nvls_ = search(system, settings, nvls_);
  count_channels();
  for (int32_t f = 0; f < kFunctions; f++) {
    for (int32_t a = 0; a < kAlgorithms; a++) {
      for (int32_t p = 0; p < kProtocols; p++) {
        terms_[f][a][p] = make_term(static_cast<Function>(f), static_cast<Algorithm>(a), static_cast<Protocol>(p));
      }
    }
  }
}

/// Kernels run on more channels than were found: each is there twice (`ncclTopoPostset` of src/graph/connect.cc).
void Model::count_channels() {
  ring_.channels = tree_.channels = std::min(ring_.channels, tree_.channels);
  int32_t channels = std::min(kMostChannels, 2 * ring_.channels);
  if (job_.least_sm >= 90 && job_.machines > 1 && ring_.intra > 45 && channels < 16) channels *= 2;
  channels = std::min({channels, settings_.max_channels, settings_.max_ctas});
  channels_ = std::max({channels, settings_.min_channels, settings_.min_ctas});
  if (nvls_.channels == 0) return;
  nvls_channels_ = job_.least_sm < 100 ? 16 : job_.machines > 1 ? 32 : 24;
  if (settings_.nvls_channels > 0) nvls_channels_ = settings_.nvls_channels;
  nvls_channels_ = std::max(settings_.min_ctas, std::min(settings_.max_ctas, nvls_channels_));
}

const Graph& Model::graph_of(Algorithm algorithm) const {
  if (algorithm == kRing) return ring_;
  return algorithm == kNvls || algorithm == kNvlsTree ? nvls_ : tree_;
}

float Model::time(Function function, Algorithm algorithm, Protocol protocol, int64_t bytes) const {
  const Term& term = terms_[function][algorithm][protocol];
  if (term.out != Out::kAvailable) return -1;
  float bandwidth = term.bandwidth, latency = term.latency;
  const int32_t size = log2_of(bytes >> 6);
  if (function == kAllReduce && size >= 0) {
    const bool corrected = algorithm == kTree       ? size < 23
                           : algorithm == kNvlsTree ? size < 24 && job_.least_sm >= 100 && job_.arch == Arch::kX86
                                                    : false;
    if (corrected) bandwidth *= kTreeCorrection[protocol][size];
    const bool plateau = algorithm == kRing && protocol == kSimple && job_.machines > 1;
    if (plateau && bytes / (static_cast<int64_t>(channels_) * job_.ranks()) >= 64) {
      latency = static_cast<float>(latency * (job_.least_sm < 80 ? 1.9 : 1.4));
    }
  }
  return latency + static_cast<float>(bytes) / (1000 * bandwidth);
}

Choice Model::choose(Function function, int64_t bytes) const {
  Choice best{kAlgorithms, kProtocols, 0, 0, 0};
  for (int32_t a = 0; a < kAlgorithms; a++) {
    for (int32_t p = 0; p < kProtocols; p++) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      const float us = time(function, algorithm, protocol, bytes);
      if (us >= 0 && (best.algorithm == kAlgorithms || us < best.time)) best = {algorithm, protocol, us, 0, 0};
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

Launch Model::launch(Algorithm algorithm, Protocol protocol, int64_t bytes) const {
  const bool nvls = algorithm == kNvls || algorithm == kNvlsTree;
  int32_t threads = most_threads(algorithm, protocol);
  int32_t channels = nvls ? nvls_channels_ : channels_;
  if (!nvls) {  // small messages use fewer channels, then fewer threads
    const int64_t each = bytes_per_thread(algorithm, protocol);
    while (channels > 1 && bytes < channels * threads * each) channels--;
    while (threads % 128 == 0 && bytes < channels * threads * each) threads /= 2;
  }
  if (algorithm == kRing && protocol == kSimple) threads += kWarp;  // one to synchronize
  if (algorithm == kTree || algorithm == kPat) threads = kMostThreads;
  return {channels, std::max(3, threads / kWarp)};
}

int32_t Model::most_threads(Algorithm algorithm, Protocol protocol) const {
  const bool nvls = algorithm == kNvls || algorithm == kNvlsTree;
  if (nvls || algorithm == kPat) return kMostThreads;
  if (protocol == kLl128) return threads_of(settings_.ll128_threads, kMostThreads / 4, kMostThreads, kMostThreads);
  const bool slow =
      algorithm == kRing && protocol == kSimple && ring_.intra * static_cast<float>(ring_.channels) <= 12;  // PCI Gen3
  return threads_of(settings_.threads, 2 * kWarp, kMostSimpleThreads, slow ? 256 : kMostSimpleThreads);
}

int64_t Model::bytes_per_thread(Algorithm algorithm, Protocol protocol) const {
  if (algorithm <= kRing && settings_.thread_thresholds[algorithm][protocol] >= 0) {
    return settings_.thread_thresholds[algorithm][protocol];
  }
  if (protocol == kSimple) return 64;
  return protocol == kLl && algorithm == kRing ? 8 * job_.ranks() : 8;
}

}  // namespace hocket::nccl
