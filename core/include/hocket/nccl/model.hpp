#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "hocket/nccl/constants.hpp"
#include "hocket/nccl/search.hpp"

namespace hocket::nccl {

/// Why an algorithm with a protocol is not chosen; `kAvailable` where it may be.
enum class Out : int32_t {
  kAvailable,
  kNotForFunction,  ///< the algorithm does not do the collective
  kNotForProtocol,  ///< it has no kernel of the protocol
  kOneMachine,      ///< it is for several machines
  kNeedsCollNet,    ///< it needs a network that reduces, and NCCL_COLLNET_ENABLE
  kNoNvls,          ///< no NVSwitches of sm 90 or more, or NCCL_NVLS_ENABLE=0
  kPatOff,          ///< it needs one GPU a machine, or NCCL_PAT_ENABLE=0
  kLl128Path,       ///< LL128 is unsafe, or slow, over such paths or between such GPUs
  kAlgorithmOff,    ///< NCCL_ALGO
  kProtocolOff,     ///< NCCL_PROTO
  kTooManyGpus,     ///< a machine has more of them than it serves
  kFewHeads,        ///< not every GPU has a NIC of its own that reduces
  kOtherHeads,      ///< chains begin at GPUs without a NIC that reduces
  kNoNvSwitch,      ///< it needs NVSwitches
  kNoChannels,      ///< the release gives it no channels
};

/// What NCCL assumes of one algorithm and protocol: time = latency + bytes / bandwidth.
struct Term {
  Out out = Out::kNotForFunction;
  float latency = 0;    ///< us
  float bandwidth = 0;  ///< GB/s of the collective's size
};

/// What NCCL assumes of the steps that an algorithm is made of.
struct Steps {
  float base;     ///< us that a collective takes without any
  float inside;   ///< us of one inside a machine
  float between;  ///< us of one to another machine
};

/// What a kernel runs on.
struct Launch {
  int32_t channels;
  int32_t warps;  ///< of each of its blocks
};

struct Choice {
  Algorithm algorithm;
  Protocol protocol;
  float time;        ///< us
  int32_t channels;  ///< that the kernel runs on
  int32_t warps;     ///< of each of its blocks
};

/// A job, its machines as NCCL counts them: the GPUs that reach each other without the network are one.
struct Job {
  int32_t machines;
  int32_t ranks;
  int32_t most_gpus;   ///< of a machine
  int32_t least_gpus;  ///< of a machine
  float least_net;     ///< GB/s of the narrowest path from a GPU to a NIC that it uses
  int32_t least_sm;
  int32_t most_sm;
  Arch arch;
  Vendor vendor;
  int32_t gpus() const { return ranks / machines; }  ///< of a machine, as NCCL rounds it
};

/// Machines whose elements are alike, and how many of them a job is on.
struct MachineKind {
  std::vector<Element> elements;
  int32_t machines = 1;
};

/// NCCL's analytical model (src/graph/tuning.cc of 2.27 to 2.30, src/tuning of 2.31, `topoGetAlgoInfo` of
/// src/enqueue.cc) on the channels found.
class Model {
 public:
  /// Searches the channels of each kind of machine, but for those `given`, which are of all kinds. Throws TopologyError
  /// for what is no machine that NCCL could run on.
  Model(std::span<const MachineKind> kinds, const Settings& settings, const Constants& constants = {},
        const Given& given = {});

  /// Of one of `operations` collectives of one group. Throws Infeasible when no algorithm may be chosen.
  Choice choose(Function function, int64_t bytes, int32_t operations = 1) const;

  Launch launch(Algorithm algorithm, Protocol protocol, int64_t bytes) const;

  /// us; negative where the term is out.
  float time(Function function, Algorithm algorithm, Protocol protocol, int64_t bytes, int32_t operations = 1) const;

  const Term& term(Function function, Algorithm algorithm, Protocol protocol) const {
    return terms_[function][algorithm][protocol];
  }
  Steps steps(Algorithm algorithm, Protocol protocol) const;
  const Graph& ring() const { return graphs_[kRingGraph]; }
  const Graph& tree() const { return graphs_[kTreeGraph]; }
  const Graph& nvls() const { return graphs_[kNvlsGraph]; }
  const Graph& collnet_chain() const { return graphs_[kCollNetChainGraph]; }
  const Graph& collnet_direct() const { return graphs_[kCollNetDirectGraph]; }
  /// What was found on machines of a kind, the channels as few as all machines have.
  const Graph& graph_on(int32_t kind, GraphId id) const { return found_.at(kind).graphs[id]; }
  /// GPUs of each machine of a kind that its graphs' channels run through.
  int32_t gpus_on(int32_t kind) const { return found_.at(kind).gpus; }
  /// Of each GPU and NIC (GPUs x NICs) of a kind of machine, the GPU that sends for it there.
  const std::vector<int32_t>& relays_on(int32_t kind) const { return found_.at(kind).relays; }
  int32_t kinds() const { return static_cast<int32_t>(found_.size()); }
  const Job& job() const { return job_; }
  int32_t channels() const { return channels_; }
  int32_t nvls_channels() const { return nvls_channels_; }

 private:
  using Graphs = std::array<Graph, kGraphs>;

  // Of the first part of a machine.
  struct Found {
    Graphs graphs;
    int32_t gpus = 0;
    std::vector<int32_t> relays;
  };

  void count_machines(std::span<const MachineKind> kinds, std::vector<std::vector<System>>& parts);
  Found find(std::vector<System>& parts, const Given& given);
  Graphs search_all(System& system, const Given& given) const;
  void merge(Graphs& graphs, const Graphs& of_part) const;
  void count_heads();
  void count_channels();
  int32_t count_nvls_channels() const;
  int32_t collnet_direct_channels(int64_t bytes) const;
  const Graph& graph_of(Algorithm algorithm) const;
  Term make_term(Function function, Algorithm algorithm, Protocol protocol) const;
  Out why_out(Function function, Algorithm algorithm, Protocol protocol) const;
  bool allows_ll128(const Graph& graph) const;
  bool is_restricted(Function function) const;
  float bus_bandwidth(Function function, Algorithm algorithm, Protocol protocol) const;
  float nvls_bandwidth(Function function, Algorithm algorithm) const;
  float latency(Function function, Algorithm algorithm, Protocol protocol) const;
  float separate_bandwidth(Function function, Algorithm algorithm, Protocol protocol) const;
  float separate_latency(Function function, Algorithm algorithm, Protocol protocol) const;
  float step(int hardware, Algorithm algorithm, Protocol protocol) const;
  int32_t most_threads(Algorithm algorithm, Protocol protocol) const;
  int64_t bytes_per_thread(Algorithm algorithm, Protocol protocol) const;

  Settings settings_;
  Constants constants_;
  Job job_{};
  Graphs graphs_;                         ///< what all machines have: the least of each
  std::vector<Found> found_;              ///< on each kind of machine
  Pattern tree_pattern_ = kBalancedTree;  ///< the plainest of any part
  bool nvswitch_ = false;
  bool collnet_ = false;
  bool chain_heads_ = false;   ///< those of chains are among those of CollNet
  int32_t collnet_heads_ = 0;  ///< GPUs of a machine with a NIC that reduces
  int32_t direct_heads_ = 0;   ///< GPUs that CollNetDirect reduces on
  int32_t channels_ = 0;
  int32_t nvls_channels_ = 0;
  std::array<std::array<std::array<Term, kProtocols>, kAlgorithms>, kFunctions> terms_{};
};

}  // namespace hocket::nccl
