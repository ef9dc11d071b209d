#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "hocket/nccl/tuner/table.hpp"

namespace hocket::nccl {

/// A collective as NCCL describes it to a tuner. `bytes`: of all_gather and reduce_scatter the whole buffer. Negative
/// `registered`: NCCL does not tell.
struct TunerCall {
  Function function = kAllReduce;
  uint64_t bytes = 0;
  int32_t pipe_operations = 1;
  int32_t registered = 0;
};

/// NCCL's microseconds, `algorithms` rows of `protocols`; negative: not available.
struct CostTable {
  const float* entries;
  int32_t algorithms;
  int32_t protocols;
};

struct TunerChoice {
  int32_t rule = -1;  ///< index into the table's rules; -1: none, NCCL's own choice
  int32_t algorithm = 0;
  int32_t protocol = 0;
  int32_t channels = 0;  ///< 0: NCCL's own
};

/// Whether NCCL limits a tuner's number of channels to what the communicator has. With CollNet's algorithms, and NVLS
/// over several nodes, it starts as many as it is told, there or not (`scheduleCollTasksToPlan`).
bool limits_channels(int32_t algorithm, int64_t nodes);

/// The rules of a table that may apply on one communicator. Immutable: any thread may ask.
class CommunicatorRules {
 public:
  CommunicatorRules(const TunerTable& table, const TunerShape& shape);

  /// The first rule for the call that can be had. Calls unavailable(index of the rule) for each one before it that
  /// cannot. Allocates nothing.
  template <class Unavailable>
  TunerChoice choose(const TunerCall& call, const CostTable& costs, Unavailable unavailable) const {
    for (const Rule& rule : rules_[call.function]) {
      if (!rule.matches(call)) continue;
      TunerChoice choice = rule.cheapest(costs);
      if (choice.rule >= 0) {
        if (!limits_channels(choice.algorithm, nodes_)) choice.channels = 0;
        return choice;
      }
      unavailable(rule.index);
    }
    return {};
  }

  /// Bytes of a chunk in place of NCCL's `own`, once NCCL has settled on algorithm and protocol.
  uint64_t chunk_bytes(Function function, uint64_t bytes, int32_t algorithm, int32_t protocol, uint64_t own) const;

  bool empty() const;

 private:
  struct Rule {
    uint64_t least, most;
    Range pipe_operations, registered;
    int32_t index, algorithm, protocol, channels, chunk_bytes;

    bool matches(const TunerCall& call) const {
      return call.bytes >= least && call.bytes <= most && pipe_operations.holds(call.pipe_operations) &&
             registered.holds(call.registered);
    }
    TunerChoice cheapest(const CostTable& costs) const;
  };

  int64_t nodes_;
  std::array<std::vector<Rule>, kFunctions> rules_;
};

}  // namespace hocket::nccl
