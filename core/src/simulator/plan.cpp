#include "hocket/simulator/plan.hpp"

#include <limits>
#include <numeric>
#include <string>

#include "hocket/error.hpp"
#include "hocket/schedule/dependencies.hpp"

namespace hocket::simulator {
namespace {

/// Groups 0..keys.size()-1 by key (keys below 0 belong nowhere): group g is `ids[offset[g]..offset[g+1]]`, ascending.
void group_by(std::span<const int32_t> keys, int32_t groups, std::vector<int32_t>& offset, std::vector<int32_t>& ids) {
  offset.assign(groups + 1, 0);
  for (const int32_t key : keys) {
    if (key >= 0) offset[key + 1]++;
  }
  std::partial_sum(offset.begin(), offset.end(), offset.begin());
  ids.resize(offset.back());
  std::vector<int32_t> next(offset.begin(), offset.end() - 1);
  for (size_t id = 0; id < keys.size(); id++) {
    if (keys[id] >= 0) ids[next[keys[id]]++] = static_cast<int32_t>(id);
  }
}

}  // namespace

Plan::Plan(const schedule::Transfers& transfers, std::span<const int64_t> bytes, std::span<const int32_t> members)
    : route_offset_(transfers.route_offset.begin(), transfers.route_offset.end()),
      route_links_(transfers.route_links.begin(), transfers.route_links.end()),
      messages_of_member_(members.size() + 1, 0) {
  if (transfers.size() >= std::numeric_limits<int32_t>::max()) {
    throw ScheduleError("a schedule of 2^31 transfers or more cannot be simulated");
  }
  std::vector<int32_t> member_of(transfers.graph->num_nodes(), -1);
  for (const int32_t node : transfers.graph->in_network()) member_of[node] = num_members();
  for (size_t member = 0; member < members.size(); member++)
    member_of.at(members[member]) = static_cast<int32_t>(member);
  const std::vector<topology::Link>& graph_links = transfers.graph->links();
  for (int32_t route = 0; route < transfers.num_routes(); route++) {
    const int32_t src = graph_links[links(route).front()].src, dst = graph_links[links(route).back()].dst;
    route_src_.push_back(member_of[src]);
    route_dst_.push_back(member_of[dst]);
    if (member_of[src] < 0 || member_of[dst] < 0) {
      throw ScheduleError("route " + std::to_string(route) + " (rank " + std::to_string(src) + " -> " +
                          std::to_string(dst) + ") leaves the group of the collective");
    }
  }
  number_messages(transfers, bytes);
  read_gates(transfers);
  count_per_member();
}

void Plan::number_messages(const schedule::Transfers& transfers, std::span<const int64_t> bytes) {
  group_by(transfers.route, static_cast<int32_t>(transfers.num_routes()), first_message_, position_);
  for (const int32_t transfer : position_) {
    route_.push_back(transfers.route[transfer]);
    bytes_.push_back(bytes[transfer]);
    total_bytes_ += bytes[transfer];
  }
}

void Plan::read_gates(const schedule::Transfers& transfers) {
  const schedule::Gates gates = schedule::find_gates(transfers);
  const auto num_gates = static_cast<int32_t>(gates.previous.size());
  std::vector<int32_t> waits;
  for (const int32_t transfer : position_) {
    waits.push_back(gates.waits[transfer]);
    feeds_.push_back(gates.feeds[transfer]);
    message_waits_.push_back(gates.waits[transfer] >= 0 ? 2 : 1);
  }
  group_by(waits, num_gates, gate_offset_, gate_messages_);
  gate_waits_.assign(num_gates, 0);
  next_gate_.assign(num_gates, -1);
  for (const int32_t gate : feeds_) {
    if (gate >= 0) gate_waits_[gate]++;
  }
  for (int32_t gate = 0; gate < num_gates; gate++) {
    if (gates.previous[gate] < 0) continue;
    gate_waits_[gate]++;
    next_gate_[gates.previous[gate]] = gate;
  }
}

void Plan::count_per_member() {
  std::vector<int32_t> ends;  // member at either end of each route that is used: two entries a route
  for (size_t route = 0; route < route_src_.size(); route++) {
    const int32_t messages = first_message_[route + 1] - first_message_[route];
    for (const int32_t member : {route_src_[route], route_dst_[route]}) {
      ends.push_back(messages > 0 ? member : -1);
      messages_of_member_[member] += messages;
    }
    if (messages > 0) message_waits_[first_message_[route]]++;  // two ends instead of one predecessor
  }
  group_by(ends, num_members() + 1, member_offset_, member_routes_);
  for (int32_t& end : member_routes_) end /= 2;
}

}  // namespace hocket::simulator
