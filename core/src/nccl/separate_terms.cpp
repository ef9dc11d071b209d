#include <algorithm>
#include <bit>

#include "hocket/nccl/model.hpp"
#include "terms.hpp"

// From 2.31 on each algorithm has a model of its own (src/tuning/ring.cc, tree.cc, nvls.cc, pat.cc, collnet.cc), with
// arithmetic of its own: float by float and double by double NCCL's.
namespace hocket::nccl {

// GB/s of the collective's size. What is between machines counts from two of them on, not from three.
float Model::separate_bandwidth(Function function, Algorithm algorithm, Protocol protocol) const {
  const Graph& graph = graph_of(algorithm);
  const int gpu = generation(job_.least_sm), machines = scale(job_.machines);
  const auto channels = static_cast<float>(graph.channels), ranks = static_cast<float>(job_.ranks);
  const auto steps = static_cast<float>(steps_of(function, job_.ranks));
  const double most_ll = constants_.most_ll[job_.machines == 1 ? gpu : job_.vendor == Vendor::kAmd ? 1 : 0][machines];
  const float per_machine = ranks / static_cast<float>(job_.machines);
  float bus = 0;
  const auto at_most = [&](double scaled, double most) { bus = static_cast<float>(std::min(scaled, most)); };
  switch (algorithm) {
    case kRing:
      bus = (job_.machines > 1 ? graph.inter : graph.intra) * channels;
      if (protocol == kLl) at_most(bus * .5, most_ll);
      if (protocol == kLl128) at_most(bus * .92, channels * constants_.most_ring_ll128[gpu][machines]);
      return bus * ranks / steps;
    case kNvls:
    case kNvlsTree:
      return nvls_bandwidth(function, algorithm) * channels * ranks / steps;
    case kCollNetDirect:
    case kCollNetChain:
      bus = per_machine * std::min(graph.intra, graph.inter * .9f);
      if (function == kAllReduce) {
        auto gpus_of_nic = static_cast<float>(per_machine / (1.0 * graph.channels));
        gpus_of_nic -= (gpus_of_nic - 1) / 2;
        bus /= gpus_of_nic;
      }
      return static_cast<float>(bus * .5);
    case kPat:
      return static_cast<float>(std::min(graph.inter, graph.intra) * channels * .75);
    default:
      bus = std::min(graph.inter, graph.intra) * channels;
      at_most(bus * .92, channels * constants_.most_tree[gpu][machines]);
      if (protocol == kLl) at_most(bus * 1.0 / 3.8, most_ll);
      if (protocol == kLl128) {
        at_most(bus * (job_.machines == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                channels * constants_.most_tree_ll128[gpu][machines]);
      }
      if (tree_pattern_ == kPlainTree) bus = static_cast<float>(bus * .85);
      return static_cast<float>(bus * .5);
  }
}

// us. One GPU a machine has the latencies of its own algorithm; a broadcast's and a reduce's are those inside.
float Model::separate_latency(Function function, Algorithm algorithm, Protocol protocol) const {
  if (algorithm == kRing && (function == kBroadcast || function == kReduce)) {
    const int hardware = ring().type_intra == kNvl ? kNvLinkHardware : kPciHardware;
    const auto total = static_cast<float>(constants_.base_latency[kRing][protocol]);
    if (ring().same_channels) return total + step(hardware, kRing, protocol);
    const float each = step(hardware, protocol == kSimple ? kTree : kRing, protocol);
    return total + static_cast<float>(steps_of(function, job_.ranks)) * each;
  }
  return latency(function, algorithm, protocol);
}

}  // namespace hocket::nccl
