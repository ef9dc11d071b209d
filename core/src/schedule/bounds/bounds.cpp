#include "hocket/schedule/bounds/bounds.hpp"

#include <algorithm>
#include <limits>
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
  bool operator==(const Alike&) const = default;
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
/// Both must pass: whole chunks one at a time, and bytes. Where chunks differ in size, the smallest is a transfer's
/// least slot, and the sum of bytes is what small slots would miss.
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

Picoseconds least_time(const std::vector<Alike>& alike, const Demand& demand, Holding holding) {
  if (demand.chunks == 0) return 0;
  if (alike.empty()) throw Infeasible("no link leads to where chunks must go");
  if (passes(alike, demand, holding, 0)) return 0;
  // `passes` is monotone in time: doubling, then bisection, gives the exact picosecond, which a formula with floors in
  // it would not.
  Picoseconds late = 1;
  while (!passes(alike, demand, holding, late)) late = within_horizon(late * 2);
  Picoseconds early = late / 2;
  while (early + 1 < late) {
    const Picoseconds middle = early + (late - early) / 2;
    (passes(alike, demand, holding, middle) ? late : early) = middle;
  }
  return late;
}

}  // namespace

Picoseconds least_time(const topology::Graph& graph, std::span<const int32_t> links, const Demand& demand,
                       Holding holding) {
  check_ids(links, static_cast<int64_t>(graph.links().size()), "the links");
  check_within(std::min({demand.chunks, demand.smallest_bytes, demand.total_bytes}), 0, demand.total_bytes,
               "chunks and bytes");
  return least_time(group(graph, links), demand, holding);
}

std::vector<Picoseconds> least_times(const topology::Graph& graph, std::span<const int64_t> offset,
                                     std::span<const int32_t> links, std::span<const int32_t> sets,
                                     std::span<const int64_t> chunks, std::span<const int64_t> total_bytes,
                                     int64_t smallest_bytes, Holding holding) {
  check_ids(links, static_cast<int64_t>(graph.links().size()), "the links");
  check_ids(sets, std::ssize(offset) - 1, "the sets of links");
  check_size(chunks.size(), sets.size(), "the chunks of the sets");
  check_size(total_bytes.size(), sets.size(), "the bytes of the sets");
  check_within(offset, 0, std::ssize(links), "the begins of the sets");
  check_within(chunks, 0, std::numeric_limits<int64_t>::max(), "the chunks of the sets");
  check_within(total_bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of the sets");
  check_within(smallest_bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of the smallest chunk");
  std::vector<Picoseconds> times;
  std::vector<Alike> last;
  Demand asked{0, 0, 0};
  for (size_t at = 0; at < sets.size(); at++) {
    const int64_t first = offset[sets[at]], end = offset[sets[at] + 1];
    check_within(end, first, std::ssize(links), "the end of a set");
    std::vector<Alike> alike = group(graph, links.subspan(first, end - first));
    const Demand demand{chunks[at], smallest_bytes, total_bytes[at]};
    const bool again = at > 0 && alike == last && demand == asked;  // as among ranks that are all alike
    times.push_back(again ? times.back() : least_time(alike, demand, holding));
    last = std::move(alike);
    asked = demand;
  }
  return times;
}

}  // namespace hocket::schedule
