#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/schedule/transfers.hpp"

namespace hocket::schedule {

/// How long transfers hold each link in each of `bins` > 0 equal parts of the time to the last one's end: links x bins.
/// Part k is from k to k + 1 times that time over `bins`, rounded down. Of a trunk it is the part of its bandwidth that
/// they take (LinkUse::share), so that a link's bins add up to what verification counts.
std::vector<Picoseconds> use_over_time(const Transfers& transfers, std::span<const int64_t> chunk_bytes, bool blocking,
                                       int64_t bins);

}  // namespace hocket::schedule
