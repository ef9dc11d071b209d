#include "hocket/schedule/transfers.hpp"

#include <limits>

#include "hocket/error.hpp"

namespace hocket::schedule {
namespace {

using topology::Link;

void check_route(const RouteTable& routes, int64_t id) {
  const auto name = [&] { return "route " + std::to_string(id); };
  const int64_t begin = routes.route_offset[id], end = routes.route_offset[id + 1];
  if (begin < 0 || end > static_cast<int64_t>(routes.route_links.size()) || begin >= end) {
    throw ScheduleError(name() + ": needs at least one link, offsets that ascend and end with the links, got " +
                        std::to_string(begin) + ".." + std::to_string(end));
  }
  const std::vector<Link>& links = routes.graph->links();
  for (int64_t at = begin; at < end; at++) {
    const int32_t link = routes.route_links[at];
    if (link < 0 || link >= static_cast<int64_t>(links.size())) {
      throw ScheduleError(name() + ": link " + std::to_string(link) + " is not one of the topology's " +
                          std::to_string(links.size()) + " links");
    }
    if (at > begin && links[routes.route_links[at - 1]].dst != links[link].src) {
      throw ScheduleError(name() + ": link " + std::to_string(link) + " leaves node " +
                          std::to_string(links[link].src) + ", but the link before it reaches node " +
                          std::to_string(links[routes.route_links[at - 1]].dst));
    }
  }
  const int32_t from = links[routes.route_links[begin]].src, to = links[routes.route_links[end - 1]].dst;
  if (!routes.graph->holds(from) || !routes.graph->holds(to) || from == to) {
    throw ScheduleError(name() + ": must lead from a rank or switch that computes to another, got node " +
                        std::to_string(from) + " to node " + std::to_string(to));
  }
}

}  // namespace

std::string Transfers::describe(int64_t id) const {
  const std::string to = graph->is_switch(dst(id)) ? name(dst(id)) : std::to_string(dst(id));
  return "transfer " + std::to_string(id) + " (chunk " + std::to_string(chunk[id]) + ", " + name(src(id)) + " -> " +
         to + ", " + std::to_string(start[id]) + ".." + std::to_string(finish[id]) + ")";
}

std::string Transfers::name(int32_t node) const {
  return (graph->is_switch(node) ? "switch " : "rank ") + std::to_string(node);
}

void check(const RouteTable& routes) {
  if (routes.route_offset.empty()) throw ScheduleError("route_offset needs one more entry than there are routes");
  for (int64_t id = 0; id < routes.num_routes(); id++) check_route(routes, id);
}

void check(const Transfers& transfers) {
  const size_t count = transfers.chunk.size();
  if (transfers.route.size() != count || transfers.reduce.size() != count || transfers.start.size() != count ||
      transfers.finish.size() != count || (!transfers.own.empty() && transfers.own.size() != count)) {
    throw ScheduleError("the columns of the transfers differ in length");
  }
  if (count > std::numeric_limits<int32_t>::max()) throw ScheduleError("more than 2^31 - 1 transfers");
  check(static_cast<const RouteTable&>(transfers));
  for (size_t id = 0; id < count; id++) {
    const std::string_view wrong = transfers.route[id] < 0 || transfers.route[id] >= transfers.num_routes() ? "route"
                                   : transfers.chunk[id] < 0 || transfers.chunk[id] >= transfers.num_chunks ? "chunk"
                                                                                                            : "";
    if (!wrong.empty()) {
      throw ScheduleError("transfer " + std::to_string(id) + ": its " + std::string(wrong) + " does not exist");
    }
    if (transfers.start[id] < 0 || transfers.finish[id] <= transfers.start[id]) {
      throw ScheduleError(transfers.describe(id) + " must start at 0 or later and finish after its start");
    }
    // Beyond the horizon sums of times could wrap, and a wrapped time would pass every other check.
    within_horizon(transfers.finish[id]);
    if (id > 0 && transfers.start[id] < transfers.start[id - 1]) {
      throw ScheduleError(transfers.describe(id) + " starts before the transfer listed before it; sort by start");
    }
  }
}

// Counting sort by chunk; within a chunk the order of the schedule stays.
ChunkIndex::ChunkIndex(const Transfers& transfers) : offset_(transfers.num_chunks + 1), ids_(transfers.size()) {
  for (const int32_t chunk : transfers.chunk) offset_[chunk + 1]++;
  for (int64_t chunk = 0; chunk < transfers.num_chunks; chunk++) offset_[chunk + 1] += offset_[chunk];
  std::vector<int64_t> next(offset_.begin(), offset_.end() - 1);
  for (int64_t id = 0; id < transfers.size(); id++) ids_[next[transfers.chunk[id]]++] = static_cast<int32_t>(id);
}

RouteCost::RouteCost(const RouteTable& routes)
    : latency_(routes.num_routes()), slowest_(routes.num_routes(), std::numeric_limits<Bandwidth>::max()) {
  for (int64_t route = 0; route < routes.num_routes(); route++) {
    bool at_rank = true;
    for (const int32_t id : routes.links(static_cast<int32_t>(route))) {
      const Link& link = routes.graph->links()[id];
      // A segment lies between two ranks: store-and-forward there, cut-through at the switches inside, so its slowest
      // link alone counts.
      if (at_rank) segment_bandwidth_.push_back(link.bandwidth);
      latency_[route] = add_ps(latency_[route], link.latency_ps);
      segment_bandwidth_.back() = std::min(segment_bandwidth_.back(), link.bandwidth);
      slowest_[route] = std::min(slowest_[route], link.bandwidth);
      at_rank = !routes.graph->is_switch(link.dst);
    }
    segment_offset_.push_back(static_cast<int64_t>(segment_bandwidth_.size()));
  }
}

}  // namespace hocket::schedule
