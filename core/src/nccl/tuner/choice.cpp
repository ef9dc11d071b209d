#include "hocket/nccl/tuner/choice.hpp"

#include <algorithm>

namespace hocket::nccl {
namespace {

/// Limits of the whole size where limits of the size per rank are given: those of floor(size / ranks).
/// Turned into whole sizes once a communicator, so that the choice, which runs at every collective, only compares.
SizeRange whole(const SizeRange& per_rank, uint64_t ranks) {
  const auto times = [&](uint64_t bytes, uint64_t more) {
    uint64_t product = 0;
    const bool beyond =
        __builtin_mul_overflow(bytes, ranks, &product) || __builtin_add_overflow(product, more, &product);
    return beyond ? SizeRange::kNoLimit : product;
  };
  return {times(per_rank.least, 0), times(per_rank.most, ranks - 1)};
}

/// Whether NCCL limits a tuner's chunk to what its buffers hold. It takes those of rings and trees for all: of NVLS,
/// whose buffers are smaller, a larger chunk than its own would not fit (`calcCollChunking`).
bool limits_chunks(int32_t algorithm) { return algorithm == kTree || algorithm == kRing || algorithm == kPat; }

}  // namespace

// The number of channels that a rule asks for is the most in NCCL, and these algorithms take their own number whatever
// it says.
bool limits_channels(int32_t algorithm, int64_t nodes) {
  const bool collnet = algorithm == kCollNetDirect || algorithm == kCollNetChain;
  return !collnet && !(algorithm == kNvls && nodes > 1);
}

CommunicatorRules::CommunicatorRules(const TunerTable& table, const TunerShape& shape) : nodes_(shape.nodes) {
  for (size_t at = 0; at < table.rules.size(); ++at) {
    const TunerRule& rule = table.rules[at];
    if (!rule.applies(shape)) continue;
    const SizeRange per_rank = whole(rule.bytes_per_rank, static_cast<uint64_t>(std::max<int64_t>(shape.ranks, 1)));
    const uint64_t least = std::max(rule.bytes.least, per_rank.least);
    const uint64_t most = std::min(rule.bytes.most, per_rank.most);
    if (least > most) continue;
    rules_[rule.function].push_back({least, most, rule.pipe_operations, rule.registered, static_cast<int32_t>(at),
                                     rule.algorithm, rule.protocol, rule.channels, rule.chunk_bytes});
  }
}

uint64_t CommunicatorRules::chunk_bytes(Function function, uint64_t bytes, int32_t algorithm, int32_t protocol,
                                        uint64_t own) const {
  // NCCL does not tell here what rules on operations and registered buffers ask for: they have no chunk.
  for (const Rule& rule : rules_[function]) {
    const bool taken =
        (rule.algorithm == kAny || rule.algorithm == algorithm) && (rule.protocol == kAny || rule.protocol == protocol);
    const bool told = rule.pipe_operations.any() && rule.registered.any();
    if (bytes < rule.least || bytes > rule.most || !taken || !told) continue;
    const auto asked = static_cast<uint64_t>(rule.chunk_bytes);
    return asked == 0 || (asked > own && !limits_chunks(algorithm)) ? own : asked;
  }
  return own;
}

bool CommunicatorRules::empty() const {
  return std::all_of(rules_.begin(), rules_.end(), [](const auto& rules) { return rules.empty(); });
}

TunerChoice CommunicatorRules::Rule::cheapest(const CostTable& costs) const {
  TunerChoice found;
  float least = 0;
  const auto first = [](int32_t asked) { return asked == kAny ? 0 : asked; };
  const auto end = [](int32_t asked, int32_t all) { return asked == kAny ? all : std::min(asked + 1, all); };
  for (int32_t a = first(algorithm); a < end(algorithm, costs.algorithms); ++a) {
    for (int32_t p = first(protocol); p < end(protocol, costs.protocols); ++p) {
      // Of what NCCL offers (its cost is not -1) the cheapest by NCCL's own model, within what the rule asks for.
      const float cost = costs.entries[a * costs.protocols + p];
      if (cost < 0 || (found.rule >= 0 && cost >= least)) continue;
      found = {index, a, p, channels};
      least = cost;
    }
  }
  return found;
}

}  // namespace hocket::nccl
