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
  kNeedsCollNet,    ///< it needs a network that reduces
  kNoNvls,          ///< no NVSwitches of sm 90 or more, or NCCL_NVLS_ENABLE=0
  kPatOff,          ///< it needs one GPU a machine, or NCCL_PAT_ENABLE=0
  kLl128Path,       ///< LL128 is unsafe, or slow, over such paths or between such GPUs
  kAlgorithmOff,    ///< NCCL_ALGO
  kProtocolOff,     ///< NCCL_PROTO
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

/// A job on `machines` equal machines of `gpus` GPUs each.
struct Job {
  int32_t machines;
  int32_t gpus;
  int32_t least_sm;
  int32_t most_sm;
  Arch arch;
  Vendor vendor;
  int32_t ranks() const { return machines * gpus; }
};

/// NCCL's analytical model (src/graph/tuning.cc of 2.30, `topoGetAlgoInfo` of src/enqueue.cc) on the channels found.
class Model {
 public:
  /// Searches the channels of a machine whose elements are given, as one of `machines`. Throws TopologyError for what
  /// is no machine that NCCL could run on, and for what is not modelled.
  Model(std::span<const Element> elements, int32_t machines, const Settings& settings, const Constants& constants = {});

  /// Throws Infeasible when no algorithm may be chosen.
  Choice choose(Function function, int64_t bytes) const;

  Launch launch(Algorithm algorithm, Protocol protocol, int64_t bytes) const;

  /// us; negative where the term is out.
  float time(Function function, Algorithm algorithm, Protocol protocol, int64_t bytes) const;

  const Term& term(Function function, Algorithm algorithm, Protocol protocol) const {
    return terms_[function][algorithm][protocol];
  }
  Steps steps(Algorithm algorithm, Protocol protocol) const;
  const Graph& ring() const { return ring_; }
  const Graph& tree() const { return tree_; }
  const Graph& nvls() const { return nvls_; }
  const Job& job() const { return job_; }
  int32_t channels() const { return channels_; }
  int32_t nvls_channels() const { return nvls_channels_; }

 private:
  const Graph& graph_of(Algorithm algorithm) const;
  void count_channels();
  Term make_term(Function function, Algorithm algorithm, Protocol protocol) const;
  Out why_out(Function function, Algorithm algorithm, Protocol protocol) const;
  bool allows_ll128(const Graph& graph) const;
  float bus_bandwidth(Function function, Algorithm algorithm, Protocol protocol) const;
  float latency(Function function, Algorithm algorithm, Protocol protocol) const;
  float step(int hardware, Algorithm algorithm, Protocol protocol) const;
  int32_t most_threads(Algorithm algorithm, Protocol protocol) const;
  int64_t bytes_per_thread(Algorithm algorithm, Protocol protocol) const;

  Settings settings_;
  Constants constants_;
  Job job_{};
  Graph ring_, tree_, nvls_;
  int32_t channels_ = 0;
  int32_t nvls_channels_ = 0;
  std::array<std::array<std::array<Term, kProtocols>, kAlgorithms>, kFunctions> terms_{};
};

}  // namespace hocket::nccl
