#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "hocket/nccl/settings.hpp"

namespace hocket::nccl {

// Bandwidths are floats of GB/s, as NCCL has them: its search and its model compare rounded sums and products of
// floats, and only the same arithmetic gives its answers.

// A device is a GPU's silicon, which links end at; a GPU is a rank's place on it. NIC is a card, NET one of its ports
// as the network plugin shows it.
enum NodeType : int32_t { kGpu, kPci, kNvSwitch, kCpu, kNic, kNet, kDevice, kNodeTypes };

/// How far a path goes, and what a link is: NCCL's scale, near to far. NVB: over NVLink through another GPU; C2C: to
/// the CPU in the same package; PIX: one PCI switch; PXB: several; P2C: to a NIC by a C2C CPU; PXN: over NVLink to the
/// GPU next to a NIC; PHB: a host bridge; SYS: between CPUs. `std::max` of two is that of a path over both, but for
/// P2C.
enum PathType : int32_t { kLoc, kNvl, kNvb, kC2c, kPix, kPxb, kP2c, kPxn, kPhb, kSys, kNetwork, kDisconnected };

enum class Arch : int32_t { kX86, kPower, kArm };
enum class Vendor : int32_t { kOther, kIntel, kAmd, kZhaoxin };

/// An element of a topology file. What `value` holds depends on it:
/// Cpu: numa, Arch, Vendor, MB/s to other CPUs, host. Pci: bus id, class (0 switch, 1 GPU, other), device, lane speed
/// (100 Mbit/s), lanes. Gpu: dev, sm, gdr. Nic: none. Net: dev, Mbit/s, port, gdr, guid, rail, plane, latency (ps),
/// whether it reduces (CollNet). NvLink: bus id of a GPU, target (0 GPU, 1 switch, 2 CPU), count, MB/s of one. C2c:
/// MB/s of one, count. PciLink: bus id.
struct Element {
  enum class Kind : int32_t { kCpu, kPci, kGpu, kNic, kNet, kNvLink, kC2c, kPciLink };
  Kind kind;
  int32_t parent;  ///< position of the element around it; -1: none
  std::array<int64_t, 9> value;
};

// One direction of a connection.
struct Link {
  PathType type;
  float bandwidth;
  int32_t from;
  int32_t to;
};

struct Path {
  std::vector<int32_t> links;  ///< ids in travel order
  float bandwidth = 0;
  PathType type = kDisconnected;
};

struct Node {
  NodeType type;
  int64_t id;
  int32_t host;          ///< that it is in, from 0
  int32_t index;         ///< among the nodes of its type
  int32_t parent = -1;   ///< of a GPU: its device
  int32_t dev = -1;      ///< of a GPU, a device or a NET
  int32_t sm = 0;        ///< of a GPU or a device
  bool gdr = false;      ///< of a GPU or a NET
  bool collnet = false;  ///< of a NET: it reduces
  Arch arch = Arch::kX86;
  Vendor vendor = Vendor::kOther;
  uint64_t asic = 0;  ///< of a NET: the card
  int32_t port = 0;
  int32_t rail = -1;
  int32_t plane = -1;
  int32_t local_gpu = -1;  ///< index of the GPU that this NET is nearest to, -1: none
  float bandwidth = 0;     ///< of a NET, GB/s
  float latency = 0;       ///< of a NET, us
  float inter_cpu = 0;     ///< of a CPU, GB/s to any other
  uint64_t device = 0;     ///< of a PCI switch
  std::vector<int32_t> links;
  std::array<std::vector<Path>, kNodeTypes> paths;  ///< to the nodes of a type, by their index; empty: not computed
};

/// One machine as NCCL sees it (`ncclTopoSystem`), which NVLink may make of several hosts: nodes, the links out of each
/// in the order in which it tries them.
/// The search takes bandwidth from `links` and from NETs and gives it back; nothing else changes after `compute_paths`.
struct System {
  std::vector<Node> nodes;
  std::vector<Link> links;
  std::array<std::vector<int32_t>, kNodeTypes> of;  ///< node numbers by type
  int32_t hosts = 1;
  bool inter = false;         ///< part of a job on several machines
  float max_bandwidth = 0;    ///< of a channel, GB/s
  float total_bandwidth = 0;  ///< of a GPU, GB/s

  int32_t count(NodeType type) const { return static_cast<int32_t>(of[type].size()); }
  Node& node(NodeType type, int32_t index) { return nodes[of[type][index]]; }
  const Node& node(NodeType type, int32_t index) const { return nodes[of[type][index]]; }
  const Path& path(NodeType from, int32_t index, NodeType to, int32_t other) const {
    return node(from, index).paths[to][other];
  }
};

/// The machine of a topology file's elements, in the file's order. Rules of src/graph/topo.cc of NCCL 2.30: links of
/// equal ends are one; those out of a node are tried widest first, the one up the PCI tree last; a Broadcom switch that
/// shows itself as two levels is one. Throws TopologyError when a GPU or a CPU is missing, or a node's parent is.
System read_system(std::span<const Element> elements);

/// Fills the paths (src/graph/paths.cc), `local_gpu` of the NETs, and the bandwidths of the search. GPUs that talk over
/// the network inside the machine are `kNetwork` apart.
void compute_paths(System& system, const Settings& settings);

/// The parts of a machine, its paths computed, whose GPUs talk to others over the network: NCCL takes each for a
/// machine of its own (`ncclTopoTrimSystem`). Of most machines it is one.
std::vector<System> split(const System& system, const Settings& settings);

/// The GPUs or NETs, by index, that `from` reaches at the highest bandwidth, of those on the shortest paths.
std::vector<int32_t> nearest(const System& system, NodeType from, int32_t index, NodeType to);

/// The GPU that sends for another to a NET (PXN); itself where it sends on its own.
int32_t relay(const System& system, int32_t gpu, int32_t net);

/// The NET, by index, that a GPU uses on a channel.
int32_t local_net(const System& system, const Settings& settings, int32_t gpu, int32_t channel);

}  // namespace hocket::nccl
