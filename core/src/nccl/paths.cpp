#include <algorithm>
#include <numeric>
#include <string>

#include "hocket/error.hpp"
#include "hocket/nccl/system.hpp"

namespace hocket::nccl {
namespace {

/// A path that may take the place of another.
struct Found {
  size_t links;
  float bandwidth;
  PathType type;
};

/// By type, then bandwidth, then fewer links; of paths equal in all three the one found first stays, which is why the
/// order of links (`Builder::connect`, `Builder::up_last`) matters. Before 2.30.7 only a wider path that is not longer
/// was better, of whatever type.
bool is_better(const Settings& settings, const Found& found, const Path& path) {
  if (settings.release < 3007) {
    return (path.bandwidth == 0 || path.links.size() >= found.links) && path.bandwidth < found.bandwidth;
  }
  if (found.type != path.type) return found.type < path.type;
  if (found.bandwidth != path.bandwidth) return found.bandwidth > path.bandwidth;
  return found.links < path.links.size();
}

/// Widest paths of the nearest type from every node to `base`, hop by hop outward (`ncclTopoSetPaths`).
/// The paths run from every node to `base`, so the search goes from `base` outward against their direction: `path` is
/// the path of `number` to `base`, `links` its links in travel order, and a step over `link` from `number` to `far`
/// finds a path of `far` that begins with the link back. A node is looked at again whenever its path got better, which
/// ends because a path only ever gets nearer, wider or shorter.
void set_paths(System& system, const Settings& settings, NodeType type, int32_t index) {
  const int32_t base = system.of[type][index];
  // 5000 GB/s is NCCL's LOC_BW: what is on the same node costs nothing.
  const auto path_of = [&](int32_t node) -> Path& {
    std::vector<Path>& paths = system.nodes[node].paths[type];
    if (paths.empty()) paths.resize(system.of[type].size());
    return paths[index];
  };
  path_of(base) = {{}, 5000, kLoc};
  // GPUs may relay for each other over NVLink, once; other nodes' traffic goes through no GPU.
  const size_t relay_hops = type == kGpu ? 2 : 1;
  const int32_t base_device = type == kGpu ? system.nodes[base].parent : base;
  std::vector<int32_t> nodes{base}, next;
  while (!nodes.empty()) {
    next.clear();
    for (const int32_t number : nodes) {
      const Node& node = system.nodes[number];
      for (const int32_t id : node.links) {
        const Link& link = system.links[id];
        const Node& far = system.nodes[link.to];
        Path& path = path_of(number);
        Path& far_path = path_of(link.to);
        // In a path to a GPU the device of `base` is one link away, so `relay_hops` counts the links up to the device
        // next to it.
        const bool to_own_gpu = link.type == kLoc && far.type == kGpu;
        if (number != base_device && node.type == kDevice && !to_own_gpu) {
          const bool relays = settings.nvb_disable == 0 && link.type == kNvl && far.type == kDevice;
          if (!relays || path.links.size() > relay_hops) continue;
        }
        // From here on a link's type is that of a path: NICs' own links count for nothing, two PCI switches make PXB, a
        // host bridge PHB, NVLink through another GPU NVB.
        PathType hop = link.type == kNetwork ? kLoc : link.type;
        if (node.type == kPci && far.type == kPci) hop = kPxb;
        if (link.type == kPix && (node.type == kCpu || far.type == kCpu)) hop = kPhb;
        if (node.type == kDevice && path.type == kNvl && hop == kNvl && path.links.size() == relay_hops) hop = kNvb;
        const PathType reached = std::max(path.type, hop);
        const float bandwidth = std::min(path.bandwidth, link.bandwidth);
        if (!is_better(settings, {path.links.size() + 1, bandwidth, reached}, far_path)) continue;
        const auto back = std::ranges::find_if(far.links, [&](int32_t other) {
          return system.links[other].to == number && system.links[other].type == link.type;
        });
        if (back == far.links.end()) throw TopologyError("a link of the machine has none back");
        std::vector<int32_t> links{*back};
        links.insert(links.end(), path.links.begin(), path.links.end());
        far_path = {std::move(links), bandwidth, reached};
        if (std::ranges::find(next, link.to) == next.end()) next.push_back(link.to);
      }
    }
    nodes.swap(next);
  }
}

// ncclTopoComputePaths. The order of its passes is NCCL's and matters: paths between GPUs are mended before paths to
// NICs, relaying by a GPU is judged by paths that are only partly mended, NIC by NIC and GPU by GPU.
class Paths {
 public:
  Paths(System& system, const Settings& settings) : system_(system), settings_(settings) {}

  void compute() {
    for (Node& node : system_.nodes) {
      for (std::vector<Path>& paths : node.paths) paths.clear();
    }
    // No path to one node depends on the paths to another.
    for (const NodeType type : {kCpu, kDevice, kGpu, kNet, kNvSwitch}) {
      for (int32_t index = 0; index < system_.count(type); index++) set_paths(system_, settings_, type, index);
    }
    for (int32_t gpu = 0; gpu < gpus(); gpu++) {
      for (int32_t peer = 0; peer < gpus(); peer++) {
        if (!reaches_directly(peer, gpu)) divert(kCpu, local_cpu(gpu), kGpu, peer, kGpu, gpu);
      }
      for (int32_t peer = 0; peer < gpus(); peer++) {
        if (peer != gpu && !connects(peer, gpu)) path(kGpu, peer, kGpu, gpu).type = kNetwork;
      }
    }
    near_over_c2c();
    for (int32_t net = 0; net < system_.count(kNet); net++) {
      for (int32_t gpu = 0; gpu < gpus(); gpu++) {
        relay_by_gpu(gpu, net);
        divert_without_rdma(gpu, net);
      }
    }
    for (int32_t net = 0; net < system_.count(kNet); net++) system_.node(kNet, net).local_gpu = nearest_gpu(net);
  }

 private:
  int32_t gpus() const { return system_.count(kGpu); }
  Path& path(NodeType from, int32_t index, NodeType to, int32_t other) {
    return system_.node(from, index).paths[to][other];
  }

  // ncclGetLocalCpu: of the widest and nearest (before 2.30.7: of all) the one with the fewest links, of equal ones the
  // first.
  int32_t local_cpu(int32_t gpu) {
    std::vector<int32_t> cpus = nearest(system_, kGpu, gpu, kCpu);
    if (settings_.release < 3007) {
      cpus.clear();
      for (int32_t cpu = 0; cpu < system_.count(kCpu); cpu++) {
        if (!path(kGpu, gpu, kCpu, cpu).links.empty()) cpus.push_back(cpu);
      }
    }
    if (cpus.empty()) throw TopologyError("GPU " + std::to_string(gpu) + " reaches no CPU");
    return *std::ranges::min_element(cpus, {}, [&](int32_t cpu) { return path(kGpu, gpu, kCpu, cpu).links.size(); });
  }

  // mergePathType: a CPU packaged with the GPU (C2C) is nearer than one behind PCI.
  static PathType merged(PathType one, PathType other) {
    const PathType far = std::max(one, other);
    return far == kPhb && std::min(one, other) == kC2c ? kP2c : far;
  }

  /// Sends what goes from one node to another by way of a third.
  void divert(NodeType by, int32_t by_index, NodeType from, int32_t from_index, NodeType to, int32_t to_index) {
    const Path first = path(from, from_index, by, by_index);
    const Path second = path(by, by_index, to, to_index);
    std::vector<int32_t> links = first.links;
    links.insert(links.end(), second.links.begin(), second.links.end());
    path(from, from_index, to, to_index) = {std::move(links), std::min(first.bandwidth, second.bandwidth),
                                            by == kGpu ? kPxn : merged(first.type, second.type)};
  }

  /// Whether two GPUs read each other's memory (`ncclTopoCheckP2p`): up to PXB; on AMD's CPUs two GPUs always.
  bool reaches_directly(int32_t one, int32_t other) {
    const Node& cpu = system_.node(kCpu, 0);
    PathType level = kPxb;
    if (cpu.arch == Arch::kX86 && cpu.vendor == Vendor::kAmd && system_.count(kDevice) <= 2) level = kSys;
    if (settings_.p2p_level != kUnset) level = static_cast<PathType>(settings_.p2p_level);
    return path(kGpu, one, kGpu, other).type <= level;
  }

  /// Whether two GPUs talk inside the machine: not where both reach the network faster than each other
  /// (`ncclTopoCheckNet`), or where they share no memory, being on two hosts.
  /// `canConnect` of src/transport/p2p.cc and shm.cc in one: shared memory serves all GPUs of a host but these.
  bool connects(int32_t one, int32_t other) {
    if (system_.node(kGpu, one).host != system_.node(kGpu, other).host && !reaches_directly(one, other)) return false;
    // Only NICs no farther than PXB count: what goes through the CPU is no quicker than going to the other GPU that
    // way.
    const auto speed = [&](int32_t gpu) {
      float fastest = 0;
      for (int32_t net = 0; net < system_.count(kNet); net++) {
        const Path& out = path(kGpu, gpu, kNet, net);
        if (out.type <= kPxb) fastest = std::max(fastest, out.bandwidth);
      }
      return fastest;
    };
    const float between = path(kGpu, one, kGpu, other).bandwidth;
    return speed(one) <= between || speed(other) <= between;
  }

  /// NICs on the CPU that a GPU is packaged with count as near.
  /// Only for the NICs nearest to the GPU, as for the others PXN is preferred; before 2.29 for all.
  void near_over_c2c() {
    for (int32_t gpu = 0; gpu < gpus(); gpu++) {
      const int32_t cpu = local_cpu(gpu);
      std::vector<int32_t> nets = nearest(system_, kGpu, gpu, kNet);
      if (settings_.release < 2900) {
        nets.resize(static_cast<size_t>(system_.count(kNet)));
        std::iota(nets.begin(), nets.end(), 0);
      }
      for (const int32_t net : nets) {
        if (merged(path(kGpu, gpu, kCpu, cpu).type, path(kNet, net, kCpu, cpu).type) != kP2c) continue;
        path(kGpu, gpu, kNet, net).type = std::min(kP2c, path(kGpu, gpu, kNet, net).type);
        path(kNet, net, kGpu, gpu).type = std::min(kP2c, path(kNet, net, kGpu, gpu).type);
      }
    }
  }

  // ncclTopoGetLocalGpu: of the GPUs nearest to the NIC the one that uses it on the earliest channel.
  int32_t nearest_gpu(int32_t net) {
    const std::vector<int32_t> local = nearest(system_, kNet, net, kGpu);
    for (int32_t channel = 0; channel < kMostChannels; channel++) {
      for (const int32_t gpu : local) {
        if (local_net(system_, settings_, gpu, channel) == net) return gpu;
      }
    }
    return -1;
  }

  /// Sends by way of the GPU next to the NIC (PXN), where that avoids the CPU or is faster.
  /// For sending only, as NCCL receives locally: the path from the NIC to the GPU stays.
  void relay_by_gpu(int32_t gpu, int32_t net) {
    if (settings_.pxn_disable == 1) return;
    const int32_t relay = nearest_gpu(net);
    if (relay == gpu || relay == -1 || system_.node(kGpu, relay).host != system_.node(kGpu, gpu).host) return;
    // 2.27 relays to NICs behind a C2C CPU only when asked to; before 2.30 also where the relay lacks GPUDirect RDMA.
    const bool over_c2c = settings_.pxn_c2c == kUnset ? settings_.release >= 2800 : settings_.pxn_c2c != 0;
    const PathType farthest = over_c2c ? kP2c : kPxb;
    const bool may_send = settings_.release < 3000 || reads_by_rdma(relay, net, true);
    const Path& out = path(kGpu, relay, kNet, net);
    const Path& own = path(kGpu, gpu, kNet, net);
    // As the settings go, PXN is the type of the path whatever its parts are (`divert` by a GPU).
    if (out.type <= farthest && may_send && path(kGpu, relay, kGpu, gpu).type <= kNvl &&
        (out.bandwidth > own.bandwidth || own.type > kPxn)) {
      divert(kGpu, relay, kGpu, gpu, kNet, net);
    }
  }

  // Data goes through a buffer in the memory of the GPU's CPU, both ways.
  void divert_without_rdma(int32_t gpu, int32_t net) {
    if (path(kGpu, gpu, kNet, net).type >= kPhb || reads_by_rdma(gpu, net, false)) return;
    const int32_t cpu = local_cpu(gpu);
    divert(kCpu, cpu, kNet, net, kGpu, gpu);
    divert(kCpu, cpu, kGpu, gpu, kNet, net);
  }

  /// Whether a NIC accesses a GPU's memory (`ncclTopoCheckGdr`); `read`: to send from it.
  bool reads_by_rdma(int32_t gpu, int32_t net, bool read) {
    const Node& node = system_.node(kGpu, gpu);
    if (!system_.node(kNet, net).gdr || !node.gdr) return false;
    if (read) {
      if (settings_.net_gdr_read == 0) return false;
      // Before Ampere a NIC's reads compete with the GPU's other PCI traffic; where NVLink carries that, or there is
      // one GPU, they do not.
      if (settings_.net_gdr_read < 0 && node.sm < 80 && gpus() > 1) {
        bool nvlink = false;
        for (int32_t peer = 0; peer < gpus(); peer++) {
          nvlink |= peer != gpu && path(kGpu, gpu, kGpu, peer).type == kNvl;
        }
        if (!nvlink) return false;
      }
    }
    PathType level = settings_.net_gdr_c2c != 0 && settings_.release >= 2900 ? kP2c : kPxb;
    if (settings_.net_gdr_level != kUnset) level = static_cast<PathType>(settings_.net_gdr_level);
    PathType distance = path(kGpu, relay(system_, gpu, net), kNet, net).type;
    // Before 2.29 a NIC behind the CPU that a GPU is packaged with was as near as that CPU.
    if (settings_.release < 2900 && settings_.net_gdr_c2c != 0 && distance == kP2c) distance = kC2c;
    return distance <= level;
  }

  System& system_;
  const Settings& settings_;
};

/// What a channel and a GPU can carry at most (`ncclTopoSearchInit`).
/// What a path carries bounds a channel; what a GPU's links carry in sum, over NVLink or PCI, bounds all of them. The
/// search begins below both.
void set_bandwidths(System& system) {
  if (!system.inter && system.count(kGpu) == 1) {
    system.max_bandwidth = system.total_bandwidth = 5000;
    return;
  }
  system.max_bandwidth = system.total_bandwidth = 0;
  for (const int32_t number : system.of[kDevice]) {
    const Node& device = system.nodes[number];
    for (const Path& path : device.paths[system.inter ? kNet : kDevice]) {
      if (!path.links.empty()) system.max_bandwidth = std::max(system.max_bandwidth, path.bandwidth);
    }
    float nvlink = 0, pci = 0;
    for (const int32_t id : device.links) {
      const Link& link = system.links[id];
      if (link.type == kNvl) nvlink += link.bandwidth;
      if (link.type == kPix) pci = link.bandwidth;
    }
    system.total_bandwidth = std::max({system.total_bandwidth, pci, nvlink});
  }
}

}  // namespace

// ncclTopoGetLocal: bandwidth before distance, unlike `set_paths`.
std::vector<int32_t> nearest(const System& system, NodeType from, int32_t index, NodeType to) {
  const std::vector<Path>& paths = system.node(from, index).paths[to];
  PathType type = kDisconnected;
  float bandwidth = 0;
  std::vector<int32_t> found;
  for (size_t at = 0; at < paths.size(); at++) {
    const Path& path = paths[at];
    if (path.bandwidth > bandwidth || (path.bandwidth == bandwidth && path.type < type)) {
      bandwidth = path.bandwidth;
      type = path.type;
      found.clear();
    }
    if (path.bandwidth == bandwidth && path.type == type) found.push_back(static_cast<int32_t>(at));
  }
  return found;
}

// ncclTopoGetLocalNet: `sharing` GPUs share `count` NICs, each taking `each` of them on channel after channel from a
// first one of its own. Mirroring the bits (mirrorBits) spreads the first ones: of 8 NICs, GPU 0 begins at 0, GPU 1 at
// 4, GPU 2 at 2.
int32_t local_net(const System& system, const Settings& settings, int32_t gpu, int32_t channel) {
  const std::vector<int32_t> nets = nearest(system, kGpu, gpu, kNet);
  if (nets.empty()) throw TopologyError("GPU " + std::to_string(gpu) + " reaches no NIC");
  const auto count = static_cast<int32_t>(nets.size());
  const auto sharing = static_cast<int32_t>(nearest(system, kNet, nets[0], kGpu).size());
  int32_t each = count;
  if (settings.net_devices == NetDevices::kShare) each = (count + sharing - 1) / sharing;
  if (settings.net_devices == NetDevices::kAtMost) each = std::min(settings.most_net_devices, count);
  int32_t first = system.node(kGpu, gpu).dev % sharing;
  if ((count & (count - 1)) == 0) {  // far apart: the bits mirrored
    int32_t mirrored = 0;
    for (int32_t bit = 1, other = count >> 1; bit < count; bit <<= 1, other >>= 1) mirrored |= first & bit ? other : 0;
    first = mirrored;
  }
  return nets[(first + channel % each) % count];
}

// ncclTopoGetIntermediateRank: a PXN path runs GPU, device, switches, device of the relay; the first GPU of that device
// is the one.
int32_t relay(const System& system, int32_t gpu, int32_t net) {
  const Path& path = system.path(kGpu, gpu, kNet, net);
  if (path.type != kPxn) return gpu;
  size_t at = 1;
  while (at + 1 < path.links.size() && system.nodes[system.links[path.links[at]].to].type == kNvSwitch) at++;
  const int32_t device = system.links[path.links[at]].to;
  const auto of_device = [&](int32_t node) { return system.nodes[node].parent == device; };
  return system.nodes[*std::ranges::find_if(system.of[kGpu], of_device)].index;
}

void compute_paths(System& system, const Settings& settings) {
  if (system.of[kCpu].empty()) throw TopologyError("no CPU in the machine");
  Paths(system, settings).compute();
  set_bandwidths(system);
}

// Every part keeps the whole machine's CPUs, switches and NICs, as in NCCL, and loses the other parts' GPUs. A part's
// paths are computed again without them: a GPU that is gone relays for nobody.
std::vector<System> split(const System& system, const Settings& settings) {
  const int32_t gpus = system.count(kGpu);
  std::vector<int32_t> part(gpus);
  for (int32_t gpu = 0; gpu < gpus; gpu++) {
    part[gpu] = gpu;
    for (int32_t before = 0; before < gpu; before++) {
      // One pass suffices where reaching is transitive; NCCL does the same pass and takes its answer as it is.
      if (system.path(kGpu, gpu, kGpu, before).type < kNetwork) part[gpu] = std::min(part[gpu], part[before]);
    }
  }
  std::vector<System> parts;
  for (int32_t first = 0; first < gpus; first++) {
    if (part[first] != first) continue;
    System& own = parts.emplace_back(system);
    const auto is_gone = [&](int32_t node) {
      return own.nodes[node].type == kGpu && part[system.nodes[node].index] != first;
    };
    for (Node& node : own.nodes) std::erase_if(node.links, [&](int32_t id) { return is_gone(own.links[id].to); });
    std::erase_if(own.of[kGpu], is_gone);
    for (int32_t index = 0; index < own.count(kGpu); index++) own.node(kGpu, index).index = index;
  }
  for (System& own : parts) {
    own.inter = own.inter || parts.size() > 1;
    compute_paths(own, settings);
  }
  return parts;
}

}  // namespace hocket::nccl
