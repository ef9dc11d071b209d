#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/topology/graph.hpp"

namespace hocket::schedule {

/// Chunks that must pass a set of links: how many, the bytes of the smallest, and the bytes of all.
struct Demand {
  int64_t chunks;
  int64_t smallest_bytes;
  int64_t total_bytes;
};

/// The least time by which `links`, each carrying one chunk at a time, can have passed on `demand`. A transfer holds
/// its link for the serialization of its bytes, and for the latency as well if `blocking`; otherwise the latency of
/// the last one follows. `chunks` transfers of at least `smallest_bytes` take whole slots; together they carry
/// `total_bytes`. Throws Infeasible when there is a demand but no link.
Picoseconds least_time(const topology::Graph& graph, std::span<const int32_t> links, const Demand& demand,
                       bool blocking);

}  // namespace hocket::schedule
