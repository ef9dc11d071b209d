#include "hocket/nccl/system.hpp"

#include <algorithm>
#include <string>

#include "hocket/error.hpp"

namespace hocket::nccl {
namespace {

using Kind = Element::Kind;

constexpr float kLocalBandwidth = 5000;

float from_mb(int64_t mb) { return static_cast<float>(static_cast<double>(mb) / 1000.0); }

/// Generation of a Broadcom PCI switch that shows its levels as switches of their own; 0: another switch.
/// getBcmGen; the id is vendor, device, and those of the subsystem, 16 bits each.
int broadcom_generation(uint64_t device, uint64_t level) {
  const uint64_t model = device & 0xfffffffffffff000;
  if (model == 0x1000c0101000a000) return 4;
  return model == (0x1000c03010000000 | level * 0x1000) ? 5 : 0;
}

/// Throws TopologyError where an element is in none that it may be in, or a number is none that a machine could have.
/// What follows reads `value` without looking again: positions, types and ranges are checked here, once, and so no file
/// can make it index or divide out of range.
void require_sound(std::span<const Element> elements) {
  const auto in = [&](const Element& element, std::initializer_list<Kind> kinds) {
    return std::ranges::find(kinds, elements[element.parent].kind) != kinds.end();
  };
  const auto placed = [&](const Element& element) {
    if (element.parent < 0) return element.kind == Kind::kCpu;
    switch (element.kind) {
      case Kind::kCpu:
        return false;
      case Kind::kPci:
      case Kind::kNic:
        return in(element, {Kind::kCpu, Kind::kPci});
      case Kind::kNet:
        return in(element, {Kind::kNic});
      case Kind::kNvLink:
      case Kind::kC2c:
        return in(element, {Kind::kGpu});
      default:
        return in(element, {Kind::kPci});
    }
  };
  const auto is_id = [](Kind kind, size_t at) {  // any bits
    if (kind == Kind::kPci) return at == 0 || at == 2;
    if (kind == Kind::kNet) return at == 4 || at == 7;
    return at == 0 && (kind == Kind::kCpu || kind == Kind::kNvLink || kind == Kind::kPciLink);
  };
  for (size_t at = 0; at < elements.size(); at++) {
    const Element& element = elements[at];
    const std::string where = "element " + std::to_string(at) + " of a machine ";
    if (!placed(element)) throw TopologyError(where + "is in none that it may be in");
    for (size_t i = 0; i < element.value.size(); i++) {
      // Rail and plane.
      const bool may_lack = element.kind == Kind::kNet && (i == 5 || i == 6);
      const int64_t value = element.value[i];
      if (is_id(element.kind, i) || (value >= (may_lack ? -1 : 0) && value <= INT32_MAX)) continue;
      throw TopologyError(where + "has a number out of range: " + std::to_string(value));
    }
  }
}

struct Edge {
  PathType type;
  float bandwidth;
  int32_t to;
};

// ncclTopoGetSystemFromXml. Nodes first, in the order of the file; then links that name nodes by their bus id, which
// may stand later in the file; then what NCCL does to the whole (Broadcom's switches, CPUs, the order of links).
class Builder {
 public:
  explicit Builder(std::span<const Element> elements) : elements_(elements), node_of_(elements.size(), -1) {}

  System build() {
    for (size_t at = 0; at < elements_.size(); at++) add(static_cast<int32_t>(at));
    add_links(Kind::kNvLink);
    add_links(Kind::kC2c);
    add_links(Kind::kPciLink);
    flatten_broadcom();
    connect_cpus();
    for (const int32_t cpu : system_.of[kCpu]) up_last(cpu, -1);
    if (system_.of[kGpu].empty()) throw TopologyError("no GPU in the machine");
    number_links();
    return std::move(system_);
  }

 private:
  const Element& around(const Element& element) const { return elements_[element.parent]; }

  /// The node of the host whose elements are read.
  /// Ids are bus ids or NUMA numbers and unique on one host alone; NCCL packs host and id into one number
  /// (NCCL_TOPO_ID).
  int32_t find(NodeType type, int64_t id) const {
    for (const int32_t node : system_.of[type]) {
      if (system_.nodes[node].id == id && system_.nodes[node].host == host_) return node;
    }
    return -1;
  }

  int32_t create(NodeType type, int64_t id) {
    const auto number = static_cast<int32_t>(system_.nodes.size());
    Node node{};
    node.type = type;
    node.id = id;
    node.host = host_;
    node.index = system_.count(type);
    system_.nodes.push_back(std::move(node));
    system_.of[type].push_back(number);
    edges_.emplace_back();
    above_.push_back(-1);
    return number;
  }

  /// One way; a link that is there gets wider. Widest first, of equal ones the older.
  /// ncclTopoConnectNodes: bubbles the link forward past strictly narrower ones only, so that equal links keep their
  /// order.
  void connect(int32_t from, int32_t to, PathType type, float bandwidth) {
    std::vector<Edge>& edges = edges_[from];
    auto edge = std::ranges::find_if(edges, [&](const Edge& e) { return e.to == to && e.type == type; });
    if (edge == edges.end()) edge = edges.insert(edges.end(), {type, 0, to});
    edge->bandwidth += bandwidth;
    for (; edge != edges.begin() && (edge - 1)->bandwidth < edge->bandwidth; edge--) std::swap(*edge, *(edge - 1));
  }

  void connect_both(int32_t one, int32_t other, PathType type, float bandwidth) {
    connect(one, other, type, bandwidth);
    connect(other, one, type, bandwidth);
  }

  void put_below(int32_t node, int32_t above, float bandwidth) {
    connect_both(node, above, kPix, bandwidth);
    above_[node] = above;
  }

  void add(int32_t at) {
    const Element& element = elements_[at];
    switch (element.kind) {
      case Kind::kCpu: {
        host_ = static_cast<int32_t>(element.value[4]);
        system_.hosts = std::max(system_.hosts, host_ + 1);
        node_of_[at] = create(kCpu, element.value[0]);
        Node& cpu = system_.nodes[node_of_[at]];
        cpu.arch = static_cast<Arch>(element.value[1]);
        cpu.vendor = static_cast<Vendor>(element.value[2]);
        cpu.inter_cpu = from_mb(element.value[3]);
        break;
      }
      case Kind::kPci:
        add_pci(at);
        break;
      case Kind::kGpu:
        add_gpu(at);
        break;
      case Kind::kNic:
        add_nic(at);
        break;
      case Kind::kNet:
        add_net(at);
        break;
      default:
        break;  // links come when all nodes are there
    }
  }

  // Lanes times 100 Mbit/s each, in GB/s: a PCI Gen3 x16 slot (80 a lane) is 16.
  static float pci_bandwidth(const Element& pci) { return static_cast<float>(pci.value[4] * pci.value[3] / 80.0); }

  bool has_nic(int32_t at) const {
    return std::ranges::any_of(elements_, [&](const Element& e) { return e.kind == Kind::kNic && e.parent == at; });
  }

  /// A switch becomes a node; GPUs and NICs are nodes of their own, on what is above them.
  void add_pci(int32_t at) {
    const Element& element = elements_[at];
    const int32_t above = node_of_[element.parent];
    if (element.value[1] != 0 || has_nic(at)) {
      node_of_[at] = above;
      return;
    }
    node_of_[at] = create(kPci, element.value[0]);
    system_.nodes[node_of_[at]].device = static_cast<uint64_t>(element.value[2]);
    put_below(node_of_[at], above, pci_bandwidth(element));
  }

  // A device is the GPU's silicon, on which links end; a GPU is a rank's use of it. Several ranks on one device
  // (NCCL_MULTI_RANK_GPU_ENABLE) are several GPUs there.
  void add_gpu(int32_t at) {
    const Element& element = elements_[at];
    const Element& pci = around(element);
    int32_t device = find(kDevice, pci.value[0]);
    if (device < 0) {
      device = create(kDevice, pci.value[0]);
      system_.nodes[device].dev = static_cast<int32_t>(element.value[0]);
      system_.nodes[device].sm = static_cast<int32_t>(element.value[1]);
      put_below(device, node_of_[element.parent], pci_bandwidth(pci));
    }
    node_of_[at] = device;
    const int32_t gpu = create(kGpu, pci.value[0]);
    Node& node = system_.nodes[gpu];
    node.parent = device;
    node.dev = static_cast<int32_t>(element.value[0]);
    node.sm = static_cast<int32_t>(element.value[1]);
    node.gdr = element.value[2] != 0;
    connect_both(device, gpu, kLoc, kLocalBandwidth);
  }

  // The ports of a card are one NIC: they share the card's PCI link.
  void add_nic(int32_t at) {
    const Element& above = around(elements_[at]);
    const bool of_cpu = above.kind == Kind::kCpu;  // such NICs of all CPUs are one, at the first of them
    const int64_t id = of_cpu ? 0 : above.value[0];
    node_of_[at] = find(kNic, id);
    if (node_of_[at] >= 0) return;
    node_of_[at] = create(kNic, id);
    put_below(node_of_[at], node_of_[elements_[at].parent], of_cpu ? kLocalBandwidth : pci_bandwidth(above));
  }

  void add_net(int32_t at) {
    const Element& element = elements_[at];
    const auto& [dev, speed, port, gdr, guid, rail, plane, latency_ps, collnet] = element.value;
    const int32_t number = create(kNet, dev);
    Node& net = system_.nodes[number];
    net.dev = static_cast<int32_t>(dev);
    net.bandwidth = static_cast<float>(static_cast<double>(speed) / 8000.0);
    net.port = static_cast<int32_t>(port);
    net.gdr = gdr != 0;
    net.collnet = collnet != 0;
    // Without a GUID each device is a card of its own.
    net.asic = static_cast<uint64_t>(guid == -1 ? (int64_t{host_} << 56) + dev : guid);
    net.rail = static_cast<int32_t>(rail);
    net.plane = static_cast<int32_t>(plane);
    net.latency = static_cast<float>(static_cast<double>(latency_ps) / 1e6);
    connect_both(node_of_[element.parent], number, kNetwork, net.bandwidth);
  }

  void add_links(Kind kind) {
    for (const Element& element : elements_) {
      if (element.kind == Kind::kCpu) host_ = static_cast<int32_t>(element.value[4]);
      if (element.kind == kind) add_link(element);
    }
  }

  void add_link(const Element& element) {
    const int32_t device = node_of_[element.parent];
    const auto& value = element.value;
    if (element.kind == Kind::kPciLink) {
      // A PCI link between switches costs nothing and counts for no distance.
      const int32_t other = find(kPci, value[0]);
      if (other >= 0) connect(device, other, kLoc, kLocalBandwidth);
      return;
    }
    // Several ranks on one GPU share its links, which the first of them brings.
    if (!brings_links(element.parent)) return;
    if (element.kind == Kind::kC2c) {
      connect_both(device, cpu_above(device), kC2c, from_mb(value[0] * value[1]));
      return;
    }
    const float bandwidth = static_cast<float>(value[2]) * from_mb(value[3]);
    if (value[1] == 0) {
      const int32_t other = find(kDevice, value[0]);
      if (other >= 0) connect(device, other, kNvl, bandwidth);
    } else if (value[1] == 2) {
      connect_both(device, cpu_above(device), kNvl, bandwidth);
    } else {
      // The switches are one node, of all hosts.
      connect_both(device, system_.of[kNvSwitch].empty() ? create(kNvSwitch, 0) : system_.of[kNvSwitch][0], kNvl,
                   bandwidth);
    }
  }

  bool brings_links(int32_t gpu) const {
    for (int32_t at = 0; at < gpu; at++) {
      if (elements_[at].kind == Kind::kGpu && elements_[at].parent == elements_[gpu].parent) return false;
    }
    return true;
  }

  int32_t cpu_above(int32_t node) const {
    while (node >= 0 && system_.nodes[node].type != kCpu) node = above_[node];
    if (node < 0) throw TopologyError("a GPU is under no CPU");
    return node;
  }

  /// Broadcom's switches show a switch below them for each group of ports, though all ports are equal.
  /// ncclTopoFlattenBcmSwitches, which begins anew after each switch; one pass over the switches as they were does the
  /// same, for a switch that was flattened is marked, and one that went into another is gone.
  void flatten_broadcom() {
    const std::vector<int32_t> switches = system_.of[kPci];
    for (const int32_t upper : switches) {
      const int generation = broadcom_generation(system_.nodes[upper].device, 0);
      if (generation == 0 || is_gone(upper)) continue;
      const std::vector<Edge> before = edges_[upper];
      std::vector<Edge> after;
      std::vector<int32_t> lower;
      for (const Edge& edge : before) {
        const Node& node = system_.nodes[edge.to];
        const bool is_part = node.type == kPci && broadcom_generation(node.device, 1) == generation;
        if (is_part) lower.push_back(edge.to);
        if (!is_part) after.push_back(edge);
      }
      edges_[upper] = std::move(after);
      for (const int32_t part : lower) {
        for (const Edge& edge : edges_[part]) {
          if (edge.to == upper) continue;
          edges_[upper].push_back(edge);
          auto back = std::ranges::find_if(edges_[edge.to], [&](const Edge& e) { return e.to == part; });
          if (back != edges_[edge.to].end()) back->to = upper;
          if (above_[edge.to] == part) above_[edge.to] = upper;
        }
        edges_[part].clear();
        std::erase(system_.of[kPci], part);
      }
      system_.nodes[upper].device |= 0xffff;  // not again
    }
    for (int32_t index = 0; index < system_.count(kPci); index++) system_.node(kPci, index).index = index;
  }

  bool is_gone(int32_t node) const { return std::ranges::find(system_.of[kPci], node) == system_.of[kPci].end(); }

  void connect_cpus() {
    for (const int32_t one : system_.of[kCpu]) {
      for (const int32_t other : system_.of[kCpu]) {
        const Node& cpu = system_.nodes[one];
        if (one != other && cpu.host == system_.nodes[other].host) connect(one, other, kSys, cpu.inter_cpu);
      }
    }
  }

  /// The link up the PCI tree is tried after all others of a node.
  /// ncclTopoSort: with links sorted by bandwidth before, a node's links are tried NVLink, PCI down, PCI up.
  void up_last(int32_t node, int32_t up) {
    std::vector<Edge>& edges = edges_[node];
    if (up >= 0) {
      const auto found = std::ranges::find_if(edges, [&](const Edge& edge) { return edge.to == up; });
      std::rotate(found, found + 1, edges.end());
    }
    for (size_t at = 0; at < edges.size(); at++) {  // the edges of `node` do not change below it
      if (edges[at].type == kPix && edges[at].to != up) up_last(edges[at].to, node);
    }
  }

  // Ids go node by node, so that a path is a list of numbers and the bandwidth of a link is in one place.
  void number_links() {
    for (size_t from = 0; from < edges_.size(); from++) {
      for (const Edge& edge : edges_[from]) {
        system_.nodes[from].links.push_back(static_cast<int32_t>(system_.links.size()));
        system_.links.push_back({edge.type, edge.bandwidth, static_cast<int32_t>(from), edge.to});
      }
    }
  }

  std::span<const Element> elements_;
  std::vector<int32_t> node_of_;  // of each element
  std::vector<int32_t> above_;    // of each node, in the PCI tree
  std::vector<std::vector<Edge>> edges_;
  System system_;
  int32_t host_ = 0;  // of the elements that are being read
};

}  // namespace

System read_system(std::span<const Element> elements) {
  require_sound(elements);
  return Builder(elements).build();
}

}  // namespace hocket::nccl
