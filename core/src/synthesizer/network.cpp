#include "hocket/synthesizer/network.hpp"

#include <algorithm>
#include <string>

#include "hocket/error.hpp"

namespace hocket::synthesizer {
namespace {

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
  Lists result = group(ids, num_values);
  for (int32_t& position : result.ids) {
    position = static_cast<int32_t>(std::upper_bound(offset.begin(), offset.end(), position) - offset.begin()) - 1;
  }
  return result;
}

Network::Network(const topology::Graph& graph, std::span<const int64_t> route_offset,
                 std::span<const int32_t> route_links, int64_t chunk_bytes, bool blocking)
    : num_ranks(graph.num_ranks()) {
  path.offset.assign(route_offset.begin(), route_offset.end());
  path.ids.assign(route_links.begin(), route_links.end());
  for (int32_t route = 0; route < path.size(); route++) {
    const auto links = path[route];
    Picoseconds latency = 0, serialization = 0;
    for (int32_t id : links) {
      const topology::Link& link = graph.links()[id];
      latency = add_ps(latency, link.latency_ps);
      serialization = std::max(serialization, serialization_ps(chunk_bytes, link.bandwidth));
    }
    src.push_back(graph.links()[links.front()].src);
    dst.push_back(graph.links()[links.back()].dst);
    travel.push_back(within_horizon(std::max<Picoseconds>(1, add_ps(latency, serialization))));
    hold.push_back(blocking ? travel.back() : serialization);
  }
  users = path.inverted(static_cast<int32_t>(graph.links().size()));
  out = group(src, num_ranks);
  in = group(dst, num_ranks);
}

bool Network::uniform() const {
  const auto all_equal = [](const std::vector<Picoseconds>& times) {
    return std::all_of(times.begin(), times.end(), [&](Picoseconds time) { return time == times.front(); });
  };
  const bool direct = path.ids.size() == src.size() && all_equal(hold) && all_equal(travel);
  return direct && !hold.empty() && hold.front() > 0;
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

}  // namespace hocket::synthesizer
