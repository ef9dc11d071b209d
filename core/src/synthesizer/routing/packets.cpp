#include "hocket/synthesizer/routing/packets.hpp"

#include <algorithm>

namespace hocket::synthesizer {

Hop first_hop(const topology::Graph& graph, std::span<const int32_t> links, int64_t bytes, bool blocking) {
  size_t length = 0;
  Picoseconds latency = 0;
  Bandwidth slowest = graph.links()[links.front()].bandwidth;
  bool arrived = false;
  while (!arrived) {
    const topology::Link& link = graph.links()[links[length++]];
    latency = add_ps(latency, link.latency_ps);
    slowest = std::min(slowest, link.bandwidth);
    arrived = !graph.is_switch(link.dst);
  }
  const Picoseconds serialization = serialization_ps(bytes, slowest);
  const Picoseconds travel = within_horizon(std::max<Picoseconds>(1, add_ps(latency, serialization)));
  return {links.first(length), blocking ? travel : serialization, travel};
}

int32_t RouteNumbers::number(std::span<const int32_t> links) {
  const auto [at, is_new] = numbers_.try_emplace({links.begin(), links.end()}, routes_.size());
  if (is_new) {
    routes_.ids.insert(routes_.ids.end(), links.begin(), links.end());
    routes_.offset.push_back(static_cast<int32_t>(routes_.ids.size()));
  }
  return at->second;
}

}  // namespace hocket::synthesizer
