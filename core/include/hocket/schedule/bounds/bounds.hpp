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
  bool operator==(const Demand&) const = default;
};

/// How a link is used by the transfers over it.
enum class Holding : uint8_t {
  kShared,    // by several at a time, each at a part of the bandwidth; the latency of the last one follows
  kWire,      // by one at a time, for its serialization; the latency of the last one follows
  kBlocking,  // by one at a time, for its serialization and the latency
};

/// The least time by which `links` can have passed on `demand`: each of `chunks` transfers of at least `smallest_bytes`
/// goes over one of them, and together they carry `total_bytes`. Where links serve one at a time each takes a slot of
/// whole picoseconds. Throws Infeasible when there is a demand but no link.
///
/// The proof: by time t a link can have finished at most floor((t - latency) / slot) transfers, or carried bandwidth *
/// (t - latency) bytes, and the chunks of the demand need so many among them. The simplest cut bound, as in SCCL and
/// TACOS (a rank's links in, for all_gather), but with floors, latency and chunks; see docs/schedule.md.
Picoseconds least_time(const topology::Graph& graph, std::span<const int32_t> links, const Demand& demand,
                       Holding holding);

/// The same for many sets of links: set k is `links[offset[sets[k]]..offset[sets[k] + 1])`, and must pass on
/// `chunks[k]` chunks with `total_bytes[k]` in all.
std::vector<Picoseconds> least_times(const topology::Graph& graph, std::span<const int64_t> offset,
                                     std::span<const int32_t> links, std::span<const int32_t> sets,
                                     std::span<const int64_t> chunks, std::span<const int64_t> total_bytes,
                                     int64_t smallest_bytes, Holding holding);

}  // namespace hocket::schedule
