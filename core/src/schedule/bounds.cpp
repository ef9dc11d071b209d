#include "hocket/schedule/bounds.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"

namespace hocket::schedule {
namespace {

/// Links of one latency and bandwidth.
struct Alike {
  Picoseconds latency_ps;
  Bandwidth bandwidth;
  int64_t count;
};

std::vector<Alike> group(const topology::Graph& graph, std::span<const int32_t> links) {
  std::vector<std::pair<Picoseconds, Bandwidth>> each;
  for (const int32_t id : links) each.emplace_back(graph.links()[id].latency_ps, graph.links()[id].bandwidth);
  std::ranges::sort(each);
  std::vector<Alike> groups;
  for (const auto& [latency, bandwidth] : each) {
    if (groups.empty() || groups.back().latency_ps != latency || groups.back().bandwidth != bandwidth) {
      groups.push_back({latency, bandwidth, 0});
    }
    groups.back().count++;
  }
  return groups;
}

/// Whether the links can have passed the demand on by `time`.
bool passes(const std::vector<Alike>& links, const Demand& demand, Holding holding, Picoseconds time) {
  __int128 chunks = 0, bytes = 0;
  for (const Alike& link : links) {
    if (time < link.latency_ps) continue;
    const Picoseconds window = time - link.latency_ps;  // the last transfer's latency comes on top of its wire time
    const __int128 passed = static_cast<__int128>(window) * link.bandwidth / kPicosecondsPerSecond;
    bytes += passed * link.count;
    if (holding == Holding::kShared) {
      chunks += (demand.smallest_bytes == 0 ? demand.chunks : passed / demand.smallest_bytes) * link.count;
      continue;
    }
    const bool blocking = holding == Holding::kBlocking;
    const Picoseconds wire = serialization_ps(demand.smallest_bytes, link.bandwidth);
    const Picoseconds slot = blocking ? link.latency_ps + wire : wire;
    chunks += static_cast<__int128>(slot == 0 ? demand.chunks : (blocking ? time : window) / slot) * link.count;
  }
  return chunks >= demand.chunks && bytes >= demand.total_bytes;
}

}  // namespace

Picoseconds least_time(const topology::Graph& graph, std::span<const int32_t> links, const Demand& demand,
                       Holding holding) {
  check_ids(links, static_cast<int64_t>(graph.links().size()), "the links");
  check_within(std::min({demand.chunks, demand.smallest_bytes, demand.total_bytes}), 0, demand.total_bytes,
               "chunks and bytes");
  if (demand.chunks == 0) return 0;
  if (links.empty()) throw Infeasible("no link leads to where chunks must go");
  const std::vector<Alike> alike = group(graph, links);
  if (passes(alike, demand, holding, 0)) return 0;
  Picoseconds late = 1;
  while (!passes(alike, demand, holding, late)) late = within_horizon(late * 2);
  Picoseconds early = late / 2;
  while (early + 1 < late) {
    const Picoseconds middle = early + (late - early) / 2;
    (passes(alike, demand, holding, middle) ? late : early) = middle;
  }
  return late;
}

}  // namespace hocket::schedule
