#pragma once

#include <span>

#include "hocket/synthesizer/balancing/alternatives.hpp"
#include "hocket/synthesizer/balancing/balance.hpp"
#include "hocket/synthesizer/network.hpp"

namespace hocket::synthesizer {

/// List scheduling of chunks on their paths (of each a number of `alternatives`): whenever ports are free, a hop starts
/// over the port with most to do yet, as in an open shop, where what waits at the next hop's ports already does not
/// count, so that none of these runs dry while another one's queue grows. `Transfers::link` is the hop. `blocking`: a
/// transfer holds its links for its latency as well.
Transfers dispatch(const Alternatives& alternatives, const PairChunks& chunks, std::span<const int32_t> path,
                   bool blocking);

}  // namespace hocket::synthesizer
