#include "terms.hpp"

#include <algorithm>
#include <bit>

#include "constants.hpp"
#include "hocket/nccl/model.hpp"

// The arithmetic is NCCL's, float by float and double by double: its choices depend on how it rounds.
namespace hocket::nccl {
namespace {

bool is_collnet(Algorithm algorithm) { return algorithm == kCollNetDirect || algorithm == kCollNetChain; }
bool is_nvls(Algorithm algorithm) { return algorithm == kNvls || algorithm == kNvlsTree; }

// What NCCL has kernels for.
bool does(Algorithm algorithm, Function function) {
  if (function == kBroadcast || function == kReduce) return algorithm == kRing;
  if (function == kAllReduce) return algorithm != kPat;
  return algorithm == kRing || algorithm == kNvls || algorithm == kPat || algorithm == kCollNetDirect;
}

// NCCL_MAX_DIRECT_ARITY + 1 and NCCL_MAX_NVLS_ARITY.
constexpr int32_t kMostCollNetGpus = 8;
constexpr int32_t kMostNvlsGpus = 32;

}  // namespace

Term Model::make_term(Function function, Algorithm algorithm, Protocol protocol) const {
  const Out out = why_out(function, algorithm, protocol);
  if (out != Out::kAvailable) return {out, 0, 0};
  if (settings_.release >= 3100) {
    return {out, separate_latency(function, algorithm, protocol), separate_bandwidth(function, algorithm, protocol)};
  }
  return {out, latency(function, algorithm, protocol), bus_bandwidth(function, algorithm, protocol)};
}

// NCCL sets a bandwidth to 0 in ncclTopoTuneModel, or leaves the entry of its cost table at "ignore" in
// updateCollCostTable of src/enqueue.cc, and does not say why; the order of the reasons here is ours, whether there is
// one is NCCL's.
Out Model::why_out(Function function, Algorithm algorithm, Protocol protocol) const {
  if (!does(algorithm, function)) return Out::kNotForFunction;
  if (algorithm > kRing && protocol != kSimple) return Out::kNotForProtocol;
  if (is_collnet(algorithm) && !collnet_) return Out::kNeedsCollNet;
  const bool many_gpus = job_.most_gpus > kMostCollNetGpus;
  if (is_collnet(algorithm) && many_gpus && (algorithm == kCollNetDirect || settings_.release >= 2800)) {
    return Out::kTooManyGpus;
  }
  if (algorithm == kCollNetDirect && !nvswitch_ && settings_.release < 3100) return Out::kNoNvSwitch;
  if (algorithm == kCollNetChain && !chain_heads_ && settings_.release >= 3007) return Out::kOtherHeads;
  if (algorithm == kNvlsTree && job_.machines == 1) return Out::kOneMachine;
  // 2.31.0a7 copies no channels to NVLSTree and PAT, which it looks for there.
  if (settings_.release >= 3100 && (algorithm == kNvlsTree || algorithm == kPat)) return Out::kNoChannels;
  if (is_nvls(algorithm) && nvls().channels < (settings_.release < 2800 ? 1 : 2)) return Out::kNoNvls;
  if (algorithm == kNvls && job_.machines > 1 && !collnet_) return Out::kNeedsCollNet;
  if (is_nvls(algorithm) && function != kAllReduce && job_.most_gpus > kMostNvlsGpus) return Out::kTooManyGpus;
  // From 2.31 on also of CollNet's all_reduce.
  const bool by_heads = gathers(function) ? algorithm == kNvls || algorithm == kCollNetDirect
                                          : settings_.release >= 3100 && is_collnet(algorithm);
  if (by_heads && job_.machines > 1 && job_.most_gpus > collnet_heads_) return Out::kFewHeads;
  if (algorithm == kPat) {
    const bool usual = settings_.pat_enable == 2;
    if (job_.least_sm < 60 || (usual ? job_.machines != job_.ranks : settings_.pat_enable == 0)) return Out::kPatOff;
  }
  if (settings_.algorithms[function][algorithm] == 0) return Out::kAlgorithmOff;
  const int32_t allowed = settings_.protocols[function][protocol];
  if (allowed == 0) return Out::kProtocolOff;
  // 2.31 asks for LL128's paths where NCCL_ALGO or NCCL_PROTO restrict the collective, and only there.
  const bool asks = settings_.release < 3100 ? allowed == 2 : is_restricted(function);
  return protocol == kLl128 && asks && !allows_ll128(graph_of(algorithm)) ? Out::kLl128Path : Out::kAvailable;
}

bool Model::is_restricted(Function function) const {
  const Settings usual;
  return settings_.algorithms[function] != usual.algorithms[function] ||
         settings_.protocols[function] != usual.protocols[function];
}

// LL128 relies on 128 bytes that are stored in one piece: inside a machine over NVLink alone; to the network NCCL
// allows it as far as PXB, from Hopper on as far as PXN.
bool Model::allows_ll128(const Graph& graph) const {
  const bool hopper = job_.least_sm >= 90;
  const int32_t farthest = settings_.ll128_c2c != 0 && hopper ? kPxn : kPxb;
  const bool alike = job_.least_sm == job_.most_sm || (hopper && settings_.release >= 3000);
  return graph.type_inter <= farthest && graph.type_intra <= kNvb && alike && job_.least_sm >= 70;
}

// The channels times the speed of each, times what the algorithm reaches of it (NCCL's refinements in its order), then
// turned from bus bandwidth into that of the collective's size (n/steps for rings and NVLS, half for what reduces up
// and broadcasts down).
float Model::bus_bandwidth(Function function, Algorithm algorithm, Protocol protocol) const {
  const Graph& graph = graph_of(algorithm);
  const int gpu = generation(job_.least_sm), machines = scale(job_.machines);
  const float per_machine = static_cast<float>(job_.ranks) / static_cast<float>(job_.machines);
  const auto channels = static_cast<float>(graph.channels);
  float bandwidth = job_.machines <= 2 || is_collnet(algorithm) ? graph.intra : graph.inter;
  if (is_nvls(algorithm)) bandwidth = nvls_bandwidth(function, algorithm);
  float bus = channels * bandwidth;
  const int ll_row = job_.machines == 1 ? gpu : job_.vendor == Vendor::kAmd ? 1 : 0;
  const double most_ll = constants_.most_ll[ll_row][machines];
  const auto at_most = [&](double scaled, double most) { bus = static_cast<float>(std::min(scaled, most)); };
  if (algorithm == kRing && protocol == kLl) at_most(bus * .5, most_ll);
  if (algorithm == kRing && protocol == kLl128)
    at_most(bus * .92, channels * constants_.most_ring_ll128[gpu][machines]);
  if (algorithm == kTree) {
    at_most(bus * .92, channels * constants_.most_tree[gpu][machines]);
    if (protocol == kLl) at_most(bus * 1.0 / 3.8, most_ll);
    if (protocol == kLl128) {
      at_most(bus * (job_.machines == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
              channels * constants_.most_tree_ll128[gpu][machines]);
    }
    if (tree_pattern_ == kPlainTree) bus = static_cast<float>(bus * .85);
  }
  if (algorithm == kPat) bus = static_cast<float>(bus * .75);
  if (algorithm == kCollNetDirect && gathers(function)) bus = per_machine * std::min(graph.intra, graph.inter * .9f);
  if (algorithm == kCollNetDirect && function == kAllReduce) {
    float gpus_of_nic = static_cast<float>(per_machine / (1.0 * graph.channels));
    gpus_of_nic -= (gpus_of_nic - 1) / 2;
    bus /= gpus_of_nic;
    if (gpu >= 2) bus = static_cast<float>(bus * .85);
  }
  if (gathers(function) && algorithm != kRing) return bus;  // counts the collective's size already
  if (is_nvls(algorithm) && settings_.release < 2800) return bus * static_cast<float>(5.0 / 6.0);
  const bool steps = algorithm == kRing || is_nvls(algorithm);
  return bus * static_cast<float>(steps ? 1.0 * job_.ranks / steps_of(function, job_.ranks) : .5);
}

// Of a channel; from 2.28 on less than all of NVLink's, but an all_reduce's two directions at once.
float Model::nvls_bandwidth(Function function, Algorithm algorithm) const {
  const Graph& graph = nvls();
  const float per_machine = static_cast<float>(job_.ranks) / static_cast<float>(job_.machines);
  if (settings_.release < 2800) {
    if (algorithm == kNvlsTree) return std::min(graph.intra, job_.machines <= 2 ? graph.inter : graph.inter / 2);
    if (function == kAllReduce) return std::min(graph.intra, graph.inter);
    return std::min(graph.intra * (per_machine - 1) / per_machine, graph.inter * .9f);
  }
  const int gpu = generation(job_.least_sm);
  const auto channels = static_cast<float>(graph.channels);
  // 2.31 counts the GPUs of the smallest machine.
  const float gpus = settings_.release < 3100 ? per_machine : static_cast<float>(job_.least_gpus);
  float intra = graph.intra * kNvlsEfficiency[gpu] * (channels - 1) / channels;
  intra *= function == kAllReduce ? 2.0f : (gpus - 1) / gpus;
  const float least = std::min(intra, graph.inter * (job_.machines <= 2 && algorithm == kNvlsTree ? 2 : 1));
  if (algorithm != kNvlsTree) return least;
  return std::min(least, static_cast<float>(constants_.most_nvls_tree[gpu][scale(job_.machines)]));
}

float Model::step(int hardware, Algorithm algorithm, Protocol protocol) const {
  // Of IBM's CPUs a tree over PCI is as quick as a ring; up to 2.30.
  const bool power = settings_.release < 3100 && job_.arch == Arch::kPower && hardware == kPciHardware &&
                     algorithm == kTree && protocol == kSimple;
  return static_cast<float>(constants_.step_latency[hardware][power ? kRing : algorithm][protocol]);
}

// Latencies are NVIDIA's measurements (`Constants`), except that a NIC's own latency of the topology file is added.
Steps Model::steps(Algorithm algorithm, Protocol protocol) const {
  const Graph& graph = graph_of(algorithm);
  float inside = step(graph.type_intra == kNvl ? kNvLinkHardware : kPciHardware, algorithm, protocol);
  // With one GPU a machine nothing hides a ring's network steps: NCCL takes a tree's latency for them.
  const bool is_separate = settings_.release >= 3100;  // each algorithm's own
  const bool as_tree = job_.ranks == job_.machines && !is_separate;
  float between = step(kNetHardware, as_tree ? kTree : algorithm, protocol) + graph.latency;
  // Flushing what was received; from 2.31 on PAT counts it alone.
  if (protocol == kSimple && (algorithm != kPat || !is_separate)) between += graph.latency;
  if (algorithm == kRing && job_.machines > 1) {  // posting to the network, also while the step goes inside
    float overhead = job_.vendor == Vendor::kAmd && job_.arch == Arch::kX86 ? 2 : 1;
    if (settings_.net_overhead_ns != kUnset) overhead = static_cast<float>(settings_.net_overhead_ns * .001);
    if (protocol == kSimple) overhead *= 3;
    inside = std::max(inside, overhead);
  }
  return {static_cast<float>(constants_.base_latency[algorithm][protocol]), inside, between};
}

float Model::latency(Function function, Algorithm algorithm, Protocol protocol) const {
  const Graph& graph = graph_of(algorithm);
  const int32_t ranks = job_.ranks, peers = job_.gpus() - 1, between = job_.machines - 1;
  const auto levels = static_cast<float>(std::bit_width(static_cast<uint32_t>(job_.machines)) - 1);
  const auto [total, intra, inter] = steps(algorithm, protocol);
  switch (algorithm) {
    case kRing: {
      const int32_t count = steps_of(function, ranks);
      // A pipeline along the ring: with channels all alike it is counted as one step; otherwise as one for each rank.
      if (function == kBroadcast || function == kReduce) {
        const int inside = graph.type_intra == kNvl ? kNvLinkHardware : kPciHardware;
        const int hardware = job_.machines == 1 ? inside : kNetHardware;
        if (graph.same_channels) return total + step(hardware, kRing, protocol);
        return total + static_cast<float>(count) * step(hardware, protocol == kSimple ? kTree : kRing, protocol);
      }
      // NCCL counts machines - 1 steps over the network for each time round the ring.
      const int32_t over_net = function == kAllReduce ? 2 * between : between;
      return total + (static_cast<float>(count - over_net) * intra + static_cast<float>(over_net) * inter);
    }
    // A chain inside the machine, a binary tree between machines; up and down.
    case kTree:
      return total + 2 * (static_cast<float>(peers) * intra + levels * inter);
    // 0.4 us for each GPU of the machine that a head serves one after the other.
    case kCollNetDirect:
      return static_cast<float>(
          total + (2 * (static_cast<float>(std::min(1, peers)) * intra + peers * .4) + static_cast<double>(inter)));
    case kCollNetChain:
      return total + (static_cast<float>(2 * peers) * intra + inter);
    case kNvls:
      return job_.machines > 1 ? intra + inter : intra;
    case kNvlsTree:
      return total + (intra + 2 * levels * inter);
    // log2 of the machines, and a linear part that NCCL's authors hope to remove (their words).
    default:  // PAT
      return static_cast<float>(total + (levels * (inter / 3.5) + ranks * 2.8));
  }
}

}  // namespace hocket::nccl
