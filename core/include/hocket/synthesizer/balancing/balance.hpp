#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/synthesizer/balancing/alternatives.hpp"

namespace hocket::synthesizer {

/// Chunks to send: `bytes` of each, for the pair of ranks s * num_ranks + d.
struct PairChunks {
  std::span<const int32_t> pair;
  std::span<const int64_t> bytes;

  int32_t size() const { return static_cast<int32_t>(pair.size()); }
};

/// A path for each chunk, so that the port with most to do has little: the largest chunks first, each on the path whose
/// ports it loads least by a price that grows with the fourth power of their load; then each is taken off and placed
/// anew, in `passes` at most, as long as that helps. Integers throughout. Throws Infeasible where a pair has no path.
std::vector<int32_t> balance(const Alternatives& alternatives, const PairChunks& chunks, int32_t passes);

}  // namespace hocket::synthesizer
