#include "hocket/simulator/plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>

#include "hocket/error.hpp"

namespace hocket::simulator {
namespace {

constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();

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

/// Each value 2^bits times.
template <typename T>
/// The state of a pattern's copies: all begin with the same counts.
std::vector<T> repeated(const std::vector<T>& values, int bits) {
  std::vector<T> result(values.size() << bits);
  for (size_t at = 0; at < result.size(); at++) result[at] = values[at >> bits];
  return result;
}

}  // namespace

Plan::Plan(const schedule::Transfers& transfers, std::span<const int64_t> bytes, std::span<const int32_t> members,
           std::span<const int32_t> relays)
    : copies_(1),
      num_members_(static_cast<int32_t>(members.size())),
      route_offset_(transfers.route_offset.begin(), transfers.route_offset.end()),
      route_links_(transfers.route_links.begin(), transfers.route_links.end()) {
  if (transfers.size() >= kLimit) {
    throw ScheduleError("a schedule of 2^31 transfers or more cannot be simulated");
  }
  std::vector<int32_t> member_of(transfers.graph->num_nodes(), -1);
  for (const int32_t node : relays) member_of.at(node) = num_members();
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
  number_messages(transfers.route, bytes);
  read_gates(schedule::find_gates(transfers));
  count_per_member();
}

// The copies of a message lie in a block of 2^copy_bits numbers, of which the ones past `copies` are never used: shifts
// instead of divisions on the hot path, for at most twice the numbers.
Plan::Plan(const schedule::Pattern& pattern, std::span<const int64_t> bytes, int32_t copies, const Routes& routes)
    : copies_(copies),
      num_members_(copies),
      copy_bits_(std::bit_width(static_cast<uint32_t>(copies) - 1)),
      route_offset_(routes.offset.begin(), routes.offset.end()),
      route_links_(routes.links.begin(), routes.links.end()),
      route_dst_(routes.dst.begin(), routes.dst.end()) {
  schedule::check(pattern);
  const size_t num_routes = routes.dst.size();
  const auto leaves = [&](int32_t member) { return member < 0 || member >= copies; };
  if (copies < 1 || num_routes % copies != 0 || routes.offset.size() != num_routes + 1 || routes.offset[0] != 0 ||
      routes.offset.back() != static_cast<int64_t>(routes.links.size()) || !std::ranges::is_sorted(routes.offset) ||
      bytes.size() != pattern.step.size() || std::ranges::any_of(routes.dst, leaves) ||
      (pattern.size() > 0 && static_cast<size_t>(std::ranges::max(pattern.connection)) >= num_routes / copies)) {
    throw ScheduleError("the routes or bytes do not fit the pattern");
  }
  // Numbers of messages are int32_t: half the memory of the largest collectives.
  if (pattern.size() << copy_bits_ > kLimit) {
    throw ScheduleError(
        "a collective of about 2^31 transfers or more cannot be simulated message by message: use "
        "fewer chunks, or a topology on which all ranks are alike");
  }
  for (size_t route = 0; route < num_routes; route++) route_src_.push_back(static_cast<int32_t>(route % copies));
  number_messages(pattern.connection, bytes);
  read_gates(schedule::find_gates(pattern));
  count_per_member();
  total_bytes_ *= copies;
}

// By connection, then by order in the schedule: the message behind another on its route has the next place.
void Plan::number_messages(std::span<const int32_t> connection, std::span<const int64_t> bytes) {
  group_by(connection, static_cast<int32_t>(route_src_.size()) / copies_, first_place_, position_);
  for (const int32_t transfer : position_) {
    connection_.push_back(connection[transfer]);
    bytes_.push_back(bytes[transfer]);
    total_bytes_ += bytes[transfer];
  }
}

// A message waits for its gate (if it has one) and for the message before it on its route; the first of a route for its
// two ends instead, which `count_per_member` adds.
void Plan::read_gates(const schedule::Gates& gates) {
  const auto num_gates = static_cast<int32_t>(gates.previous.size());
  std::vector<int32_t> waits;
  for (const int32_t transfer : position_) {
    waits.push_back(gates.waits[transfer]);
    feeds_.push_back(gates.feeds[transfer]);
    waits_.push_back(gates.waits[transfer] >= 0 ? 2 : 1);
  }
  group_by(waits, num_gates, gate_offset_, gate_messages_);
  std::vector<uint32_t> count(num_gates);
  next_gate_.assign(num_gates, -1);
  for (const int32_t gate : feeds_) {
    if (gate >= 0) count[gate]++;
  }
  for (int32_t gate = 0; gate < num_gates; gate++) {
    if (gates.previous[gate] < 0) continue;
    count[gate]++;
    next_gate_[gates.previous[gate]] = gate;
  }
  for (int32_t gate = 0; gate < num_gates; gate++) {
    // Gates that one thing opens need no counter: most gates of rings and trees.
    counter_.push_back(count[gate] > 1 ? static_cast<int32_t>(counts_.size()) : -1);
    if (count[gate] > 1) counts_.push_back(count[gate]);
  }
}

void Plan::count_per_member() {
  messages_of_member_.assign(num_members_ + 1, 0);
  std::vector<int32_t> ends;  // member at either end of each route that is used: two entries a route
  for (size_t route = 0; route < route_src_.size(); route++) {
    const size_t connection = route / copies_;
    const int32_t messages = first_place_[connection + 1] - first_place_[connection];
    for (const int32_t member : {route_src_[route], route_dst_[route]}) {
      ends.push_back(messages > 0 ? member : -1);
      messages_of_member_[member] += messages;
    }
  }
  for (size_t connection = 0; connection + 1 < first_place_.size(); connection++) {
    const int32_t first = first_place_[connection];
    if (first < first_place_[connection + 1]) waits_[first]++;  // two ends instead of one predecessor
  }
  // Two entries a route, so an entry's half is its route; the last group is the relays'.
  group_by(ends, num_members_ + 1, member_offset_, member_routes_);
  for (int32_t& end : member_routes_) end /= 2;
}

std::vector<uint8_t> Plan::message_waits() const { return repeated(waits_, copy_bits_); }

std::vector<uint32_t> Plan::gate_counts() const { return repeated(counts_, copy_bits_); }

}  // namespace hocket::simulator
