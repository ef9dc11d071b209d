#include "hocket/schedule/link_use.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "hocket/error.hpp"

namespace hocket::schedule {
namespace {

/// Bandwidth of each link of each route's part of the way between two nodes where chunks may stay: in one part all have
/// that of the slowest.
std::vector<Bandwidth> rates_of(const RouteTable& routes) {
  std::vector<Bandwidth> rates;
  for (int32_t route = 0; route < routes.num_routes(); route++) {
    size_t part = rates.size();
    for (const int32_t id : routes.links(route)) {
      const topology::Link& link = routes.graph->links()[id];
      const Bandwidth slowest = part == rates.size() ? link.bandwidth : std::min(rates.back(), link.bandwidth);
      rates.push_back(slowest);
      std::fill(rates.begin() + static_cast<int64_t>(part), rates.end(), slowest);
      if (!routes.graph->is_switch(link.dst)) part = rates.size();
    }
  }
  return rates;
}

}  // namespace

LinkUse::LinkUse(const RouteTable& routes, bool exclusive)
    : routes_(routes), free_(routes.graph->links().size()), last_(free_.size(), -1), trunk_(free_.size(), -1) {
  std::vector<int32_t> passed_by(free_.size(), -1);
  for (int32_t route = 0; route < routes.num_routes(); route++) {
    for (const int32_t link : routes.links(route)) {
      if (std::exchange(passed_by[link], route) == route) {
        throw ScheduleError("route " + std::to_string(route) + " passes link " + std::to_string(link) + " twice");
      }
    }
  }
  if (exclusive) return;
  if (routes.graph->num_nodes() == routes.graph->num_ranks()) return;  // no link leads to a slower one
  rates_ = rates_of(routes);
  std::vector<Bandwidth> slowest(free_.size(), std::numeric_limits<Bandwidth>::max());
  for (size_t hop = 0; hop < rates_.size(); hop++) {
    Bandwidth& least = slowest[routes.route_links[hop]];
    least = std::min(least, rates_[hop]);
  }
  for (size_t link = 0; link < free_.size(); link++) {
    const Bandwidth bandwidth = routes.graph->links()[link].bandwidth;
    if (slowest[link] > bandwidth / 2) continue;
    trunk_[link] = static_cast<int32_t>(trunks_.size());
    trunks_.push_back({{}, bandwidth});
  }
}

Picoseconds LinkUse::earliest(int32_t route, Picoseconds from) {
  for (int64_t hop = routes_.route_offset[route]; hop < routes_.route_offset[route + 1]; hop++) from = room(hop, from);
  return from;
}

Picoseconds LinkUse::room_on_trunk(int64_t hop, Picoseconds from) {
  Trunk& trunk = trunks_[trunk_[routes_.route_links[hop]]];
  from = std::max(from, trunk.start);
  const Bandwidth left = trunk.bandwidth - rates_[hop];
  // Starts on a link never go back, so who has left by now is gone for good.
  while (!trunk.tenants.empty() && (trunk.tenants.top().end <= from || trunk.used > left)) {
    from = std::max(from, trunk.tenants.top().end);
    trunk.used -= trunk.tenants.top().rate;
    trunk.tenants.pop();
  }
  return from;
}

void LinkUse::take_trunk(int64_t hop, Picoseconds start, Picoseconds end) {
  Trunk& trunk = trunks_[trunk_[routes_.route_links[hop]]];
  trunk.tenants.push({end, rates_[hop]});
  trunk.used += rates_[hop];
  trunk.start = start;
}

}  // namespace hocket::schedule
