#include "hocket/synthesizer/network.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "hocket/columns.hpp"
#include "hocket/error.hpp"
#include "hocket/schedule/transfers.hpp"
#include "hocket/topology/cut.hpp"

namespace hocket::synthesizer {
namespace {

/// Counting sort: positions ascend within a list, so that what is built from it does not depend on a sort's ties.
/// A list for every value in 0..num_values-1 with the positions that hold it.
Lists group(const std::vector<int32_t>& values, int32_t num_values) {
  Lists lists{std::vector<int32_t>(num_values + 1, 0), std::vector<int32_t>(values.size())};
  for (int32_t value : values) lists.offset[value + 1]++;
  for (int32_t value = 0; value < num_values; value++) lists.offset[value + 1] += lists.offset[value];
  std::vector<int32_t> next(lists.offset.begin(), lists.offset.end() - 1);
  for (size_t at = 0; at < values.size(); at++) lists.ids[next[values[at]]++] = static_cast<int32_t>(at);
  return lists;
}

}  // namespace

Lists Lists::inverted(int32_t num_values) const {
  std::vector<int32_t> list(ids.size());
  for (int32_t at = 0; at < size(); at++) std::fill(list.begin() + offset[at], list.begin() + offset[at + 1], at);
  Lists result = group(ids, num_values);
  for (int32_t& position : result.ids) position = list[position];
  return result;
}

Network::Network(const topology::Graph& graph, std::span<const int64_t> route_offset,
                 std::span<const int32_t> route_links, int64_t chunk_bytes, bool blocking)
    : num_ranks(graph.num_ranks()), chunk_bytes(chunk_bytes), blocking(blocking) {
  schedule::check(schedule::RouteTable{&graph, route_offset, route_links});
  check_within(chunk_bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of a chunk");
  path.offset.assign(route_offset.begin(), route_offset.end());
  path.ids.assign(route_links.begin(), route_links.end());
  for (auto* ids : {&src, &dst}) ids->reserve(path.size());
  for (auto* amounts : {&hold, &travel, &latency, &bandwidth}) amounts->reserve(path.size());
  for (int32_t route = 0; route < path.size(); route++) {
    const auto links = path[route];
    latency.push_back(0);
    bandwidth.push_back(std::numeric_limits<Bandwidth>::max());
    for (int32_t id : links) {
      const topology::Link& link = graph.links()[id];
      latency.back() = add_ps(latency.back(), link.latency_ps);
      bandwidth.back() = std::min(bandwidth.back(), link.bandwidth);
    }
    src.push_back(graph.links()[links.front()].src);
    dst.push_back(graph.links()[links.back()].dst);
    check_within(std::max(src.back(), dst.back()), 0, num_ranks - 1, "the ranks that a link joins");
    // Links of a kind follow each other.
    const bool again = route > 0 && latency[route] == latency[route - 1] && bandwidth[route] == bandwidth[route - 1];
    const auto [held, travelled] = again ? Times{hold.back(), travel.back()} : times_of(route, chunk_bytes);
    hold.push_back(held);
    travel.push_back(travelled);
  }
  users = path.inverted(static_cast<int32_t>(graph.links().size()));
  out = group(src, num_ranks);
  in = group(dst, num_ranks);
}

Network::Times Network::times_of(int32_t link, int64_t bytes) const {
  // Cut-through: the slowest link alone decides how long the bytes take, latencies add up. At least 1 ps, so that time
  // goes on in every transfer and no search can loop at one instant.
  const Picoseconds serialization = serialization_ps(bytes, bandwidth[link]);
  const Picoseconds travelled = within_horizon(std::max<Picoseconds>(1, add_ps(latency[link], serialization)));
  return {blocking ? travelled : serialization, travelled};
}

// Exactly equal, not nearly: `rounds` counts rounds, and links of other times would fall out of step with them.
bool Network::uniform() const {
  const auto all_equal = [](const std::vector<Picoseconds>& times) {
    return std::all_of(times.begin(), times.end(), [&](Picoseconds time) { return time == times.front(); });
  };
  const bool direct = path.ids.size() == src.size() && all_equal(hold) && all_equal(travel);
  return direct && !hold.empty() && hold.front() > 0;
}

std::vector<bool> Network::reached_from(int32_t rank, const std::vector<bool>& allowed) const {
  std::vector<bool> reached(num_ranks);
  std::vector<int32_t> todo{rank};
  reached[rank] = true;
  while (!todo.empty()) {
    const int32_t from = todo.back();
    todo.pop_back();
    for (const int32_t link : out[from]) {
      if (reached[dst[link]] || !allowed[dst[link]]) continue;
      reached[dst[link]] = true;
      todo.push_back(dst[link]);
    }
  }
  return reached;
}

void Transfers::reserve(size_t count) {
  chunk.reserve(count);
  link.reserve(count);
  start.reserve(count);
  finish.reserve(count);
}

void Transfers::add(int32_t chunk_id, int32_t link_id, Picoseconds from, Picoseconds to) {
  chunk.push_back(chunk_id);
  link.push_back(link_id);
  start.push_back(from);
  finish.push_back(to);
  time = std::max(time, to);
}

void throw_unreachable(int32_t chunk, int32_t origin, int32_t rank) {
  throw Infeasible("chunk " + std::to_string(chunk) + ": no path of links joins rank " + std::to_string(origin) +
                   " and rank " + std::to_string(rank) + " in the direction it needs; connect them");
}

void throw_cut_off(const std::vector<bool>& reached, int32_t chunk, int32_t origin) {
  throw Infeasible("chunk " + std::to_string(chunk) + " cannot get from rank " + std::to_string(origin) +
                   " to all ranks that it must reach: " + topology::describe_cut(reached));
}

}  // namespace hocket::synthesizer
