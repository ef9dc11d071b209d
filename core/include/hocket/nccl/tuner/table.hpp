#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/nccl/settings.hpp"

namespace hocket::nccl {

inline constexpr int32_t kAny = -1;  ///< of an algorithm or protocol: NCCL's cheapest

/// Numbers from `least` to `most`, both included. What NCCL does not tell is negative: only `any` holds for it.
struct Range {
  int32_t least = 0;
  int32_t most = std::numeric_limits<int32_t>::max();

  bool holds(int64_t value) const { return (value >= least && value <= most) || any(); }
  bool any() const { return least == 0 && most == std::numeric_limits<int32_t>::max(); }
};

/// Bytes from `least` to `most`, both included.
struct SizeRange {
  static constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
  uint64_t least = 0;
  uint64_t most = kNoLimit;
};

/// The communicator a table is used for. `domains` < 0: NCCL does not tell of NVLink domains.
struct TunerShape {
  int64_t nodes = 1;
  int64_t ranks = 1;
  int32_t domains = -1;
  int32_t least_domain_ranks = -1;
  int32_t most_domain_ranks = -1;
};

/// One row: for which calls, and what to take for them.
struct TunerRule {
  int32_t line = 0;
  Function function = kAllReduce;
  SizeRange bytes;
  SizeRange bytes_per_rank;  ///< of the size divided by the ranks, rounded down
  Range nodes;
  Range ranks;
  Range pipe_operations;
  Range registered;  ///< 0 or 1: whether both buffers are registered by the user
  Range domains;
  Range least_domain_ranks;
  Range most_domain_ranks;
  int32_t algorithm = kAny;
  int32_t protocol = kAny;
  int32_t channels = 0;     ///< at most so many; 0: NCCL's own
  int32_t chunk_bytes = 0;  ///< 0: NCCL's own

  /// Whether it may apply to calls on such a communicator.
  bool applies(const TunerShape& shape) const;
};

/// ncclTunerConstants of NCCL 2.28 and later (`Constants`) as one array of doubles, in the order of its members.
inline constexpr int32_t kTunerConstants = 144;

/// A row that replaces one of the constants of NCCL's model.
struct TunerConstant {
  int32_t line = 0;
  int32_t index = 0;  ///< into ncclTunerConstants
  double value = 0;   ///< us or GB/s
  Range nodes;
  Range ranks;
};

struct TunerProblem {
  int32_t line = 0;
  std::string text;  ///< what is wrong, and what was expected
};

/// What a file of rules says; docs/nccl-tuner.md describes the format.
struct TunerTable {
  std::vector<TunerRule> rules;  ///< of several that match a call the first counts
  std::vector<TunerConstant> constants;
  std::vector<TunerProblem> problems;  ///< rows that say nothing: a table with problems is not to be used
};

/// Reads a table. Never throws on what the text holds: it is listed in `problems`.
TunerTable parse_tuner_table(std::string_view text);

/// Of each constant the first row that holds for such a communicator is written to `constants` (`kTunerConstants` of
/// them); returns how many.
int32_t rewrite_constants(const TunerTable& table, const TunerShape& shape, double* constants);

/// As tables spell them, in NCCL's order.
extern const std::array<std::string_view, kFunctions> kFunctionNames;
extern const std::array<std::string_view, kAlgorithms> kAlgorithmNames;
extern const std::array<std::string_view, kProtocols> kProtocolNames;

}  // namespace hocket::nccl
