#include "pricing.hpp"

#include <algorithm>
#include <string>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "hocket/topology/access.hpp"

namespace hocket::schedule {
namespace {

using topology::Graph;

constexpr int kDistanceBits = 50;
constexpr int kByteBits = 55;

}  // namespace

// A transfer holds the links of its route (from where a chunk may stay to where it may stay next) all at once: for the
// serialization on the slowest of them, and where they block for all their latencies. A smaller chunk of c bytes holds
// them for at least c / largest of that: rounding up makes up for less than the picosecond taken off where chunks
// differ.
std::vector<Picoseconds> least_holds(const Graph& graph, int64_t largest_chunk, bool alike, Holding holding) {
  const topology::Access into(graph), out_of(graph.reversed());
  std::vector<Picoseconds> holds;
  const bool rounded_up = alike && holding != Holding::kShared;
  for (const topology::Link& link : graph.links()) {
    const Bandwidth before = into.widest[link.src], after = out_of.widest[link.dst];
    const bool used = before > 0 && after > 0;
    const bool whole_route = used && holding != Holding::kShared;
    const Bandwidth widest = whole_route ? std::min({link.bandwidth, before, after}) : link.bandwidth;
    const Picoseconds wire = serialization_ps(largest_chunk, widest);
    const Picoseconds least = rounded_up ? wire : std::max<Picoseconds>(0, wire - 1);
    Picoseconds latency = link.latency_ps;
    if (used) latency = add_ps(add_ps(into.nearest[link.src], latency), out_of.nearest[link.dst]);
    holds.push_back(holding == Holding::kBlocking ? add_ps(latency, least) : least);
  }
  return holds;
}

Pricing::Pricing(const Graph& graph, const Traffic& traffic, Holding holding)
    : graph_(graph),
      traffic_(traffic),
      holding_(holding),
      holds_(least_holds(graph, traffic.largest_chunk, traffic.alike, holding)),
      tree_(graph, topology::passable_nodes(graph, {})),
      weight_(holds_.size()) {
  check_size(traffic.dst.size(), traffic.src.size(), "the destinations of traffic");
  check_size(traffic.bytes.size(), traffic.src.size(), "the bytes of traffic");
  check_ids(traffic.src, graph.num_ranks(), "the sources of traffic");
  check_ids(traffic.dst, graph.num_ranks(), "the destinations of traffic");
  check_within(traffic.bytes, 0, int64_t{1} << kByteBits, "the bytes of traffic");
  for (size_t at = 0; at < traffic.src.size(); at++) {
    if (at == 0 || traffic.src[at] != traffic.src[at - 1]) source_.push_back(at);
  }
  source_.push_back(traffic.src.size());
}

Picoseconds Pricing::bound(std::span<const int64_t> prices, Picoseconds least_ps) {
  set(prices);
  __int128 paid = 0, all_prices = 0, after_last = 0;
  for (size_t source = 0; source < num_sources(); source++) paid += pay(source);
  for (size_t link = 0; link < holds_.size(); link++) {
    all_prices += prices[link];
    if (holding_ == Holding::kBlocking) continue;
    // The last transfer over a link begins a latency before the end at the latest, as long as the bound is as long as
    // that.
    after_last += static_cast<__int128>(prices[link]) * std::min(graph_.links()[link].latency_ps, least_ps);
  }
  // paid / largest * 2^shift / all_prices, by long division: the remainder stays below 2^110.
  // A lower bound rounds down at every step: weights were shifted down, so what was paid is too little at most.
  const __int128 divisor = all_prices * std::max<int64_t>(1, traffic_.largest_chunk);
  __int128 quotient = paid / divisor, remainder = paid % divisor;
  for (int bit = 0; bit < shift_; bit++) {
    quotient *= 2;
    remainder *= 2;
    if (remainder >= divisor) {
      quotient++;
      remainder -= divisor;
    }
  }
  return within_horizon(quotient + after_last / all_prices);
}

void Pricing::set(std::span<const int64_t> prices) {
  __int128 dearest = 1;
  for (size_t link = 0; link < holds_.size(); link++) {
    dearest = std::max(dearest, static_cast<__int128>(prices[link]) * holds_[link]);
  }
  // A way passes every node once at most, so the dearest link times the nodes bounds any distance.
  shift_ = 0;  // distances stay below 2^kDistanceBits
  while ((dearest * graph_.num_nodes()) >> shift_ >> kDistanceBits) shift_++;
  for (size_t link = 0; link < holds_.size(); link++) {
    weight_[link] = static_cast<int64_t>((static_cast<__int128>(prices[link]) * holds_[link]) >> shift_);
  }
}

__int128 Pricing::pay(size_t source) {
  const size_t first = source_[source], last = source_[source + 1];
  tree_.grow(traffic_.src[first], weight_, traffic_.dst.subspan(first, last - first));
  __int128 paid = 0;
  for (size_t at = first; at < last; at++) {
    const int64_t distance = tree_.distance(traffic_.dst[at]);
    if (distance == kNever) {
      throw Infeasible("rank " + std::to_string(traffic_.src[at]) + " cannot reach rank " +
                       std::to_string(traffic_.dst[at]) + ": add links that connect them");
    }
    paid += static_cast<__int128>(traffic_.bytes[at]) * distance;
  }
  return paid;
}

void Pricing::way(size_t pair, std::vector<int32_t>& links) const {
  links.clear();
  for (int32_t node = traffic_.dst[pair]; node != traffic_.src[pair]; node = graph_.links()[links.back()].src) {
    links.push_back(tree_.link_into(node));
  }
}

}  // namespace hocket::schedule
