#include "hocket/simulator/plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

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

/// The different values from 0 up that `of` has of these ids, ascending.
void find_different(std::span<const int32_t> ids, const std::vector<int32_t>& of, std::vector<int32_t>& values) {
  values.clear();
  for (const int32_t id : ids) {
    if (of[id] >= 0) values.push_back(of[id]);
  }
  if (values.size() < 2) return;
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
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
           std::span<const int32_t> relays, topology::Paths paths, Message message)
    : copies_(1), num_members_(static_cast<int32_t>(members.size())), paths_(std::move(paths)) {
  if (transfers.size() >= kLimit) {
    throw ScheduleError("a schedule of 2^31 transfers or more cannot be simulated");
  }
  paths_.check(std::ssize(transfers.graph->links()));
  if (paths_.num_pairs() != transfers.num_routes()) throw ScheduleError("the paths do not fit the routes");
  std::vector<int32_t> member_of(transfers.graph->num_nodes(), -1);
  for (const int32_t node : relays) member_of.at(node) = num_members();
  for (size_t member = 0; member < members.size(); member++)
    member_of.at(members[member]) = static_cast<int32_t>(member);
  const std::vector<topology::Link>& graph_links = transfers.graph->links();
  for (int32_t route = 0; route < transfers.num_routes(); route++) {
    const std::span<const int32_t> links = paths_.path(paths_.first(route));
    if (links.empty()) throw ScheduleError("route " + std::to_string(route) + " has no link");
    const int32_t src = graph_links[links.front()].src, dst = graph_links[links.back()].dst;
    route_src_.push_back(member_of[src]);
    route_dst_.push_back(member_of[dst]);
    if (member_of[src] < 0 || member_of[dst] < 0) {
      throw ScheduleError("route " + std::to_string(route) + " (rank " + std::to_string(src) + " -> " +
                          std::to_string(dst) + ") leaves the group of the collective");
    }
  }
  const Contents contents = number_messages(transfers.route, transfers.start, bytes, message);
  read_gates(schedule::find_gates(transfers), contents);
  count_per_member();
}

// The copies of a message lie in a block of 2^copy_bits numbers, of which the ones past `copies` are never used: shifts
// instead of divisions on the hot path, for at most twice the numbers.
Plan::Plan(const schedule::Pattern& pattern, std::span<const int64_t> bytes, int32_t copies, Routes routes,
           Message message)
    : copies_(copies),
      num_members_(copies),
      copy_bits_(std::bit_width(static_cast<uint32_t>(copies) - 1)),
      paths_(std::move(routes.paths)),
      route_dst_(routes.dst.begin(), routes.dst.end()) {
  schedule::check(pattern);
  const size_t num_routes = routes.dst.size();
  const auto leaves = [&](int32_t member) { return member < 0 || member >= copies; };
  paths_.check(kLimit);  // links of a graph that it never sees
  if (copies < 1 || num_routes % copies != 0 || paths_.num_pairs() != static_cast<int64_t>(num_routes) ||
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
  const Contents contents = number_messages(pattern.connection, pattern.step, bytes, message);
  read_gates(schedule::find_gates(pattern), contents);
  count_per_member();
  total_bytes_ *= copies;
}

// By connection, then by order in the schedule: the message behind another on its route has the next place.
Plan::Contents Plan::number_messages(std::span<const int32_t> connection, std::span<const Picoseconds> start,
                                     std::span<const int64_t> bytes, Message message) {
  Contents contents;
  std::vector<int32_t> first_transfer;
  group_by(connection, static_cast<int32_t>(route_src_.size()) / copies_, first_transfer, contents.ids);
  for (size_t route = 0; route + 1 < first_transfer.size(); route++) {
    first_place_.push_back(static_cast<int32_t>(position_.size()));
    for (int32_t at = first_transfer[route]; at < first_transfer[route + 1]; at++) {
      const int32_t transfer = contents.ids[at];
      const bool goes_along =
          message == Message::kStep && at > first_transfer[route] && start[transfer] == start[contents.ids[at - 1]];
      if (!goes_along) {
        contents.offset.push_back(at);
        position_.push_back(transfer);
        connection_.push_back(static_cast<int32_t>(route));
        bytes_.push_back(0);
        if (message == Message::kStep) step_.push_back(start[transfer]);
      }
      bytes_.back() += bytes[transfer];
      total_bytes_ += bytes[transfer];
    }
  }
  first_place_.push_back(static_cast<int32_t>(position_.size()));
  contents.offset.push_back(static_cast<int32_t>(contents.ids.size()));
  return contents;
}

// A message waits for its gates (if it has any) and for the message before it on its route; the first of a route for
// its two ends instead, which `count_per_member` adds.
void Plan::read_gates(const schedule::Gates& gates, const Contents& contents) {
  const auto num_gates = static_cast<int32_t>(gates.previous.size());
  std::vector<uint32_t> count(num_gates);
  std::vector<int32_t> found, waits, waiting;  // `waiting[k]`: the message that waits for the gate `waits[k]`
  feeds_offset_.push_back(0);
  for (size_t message = 0; message < position_.size(); message++) {
    const std::span<const int32_t> transfers{contents.ids.data() + contents.offset[message],
                                             contents.ids.data() + contents.offset[message + 1]};
    find_different(transfers, gates.waits, found);
    waits_.push_back(found.empty() ? 1 : 2);
    waits.insert(waits.end(), found.begin(), found.end());
    waiting.insert(waiting.end(), found.size(), static_cast<int32_t>(message));
    if (found.size() > 1) {
      join_.resize(position_.size(), -1);
      join_[message] = static_cast<int32_t>(counts_.size());
      counts_.push_back(static_cast<uint32_t>(found.size()));
    }
    find_different(transfers, gates.feeds, found);
    feeds_.insert(feeds_.end(), found.begin(), found.end());
    feeds_offset_.push_back(static_cast<int32_t>(feeds_.size()));
    for (const int32_t gate : found) count[gate]++;
  }
  group_by(waits, num_gates, gate_offset_, gate_messages_);
  for (int32_t& at : gate_messages_) at = waiting[at];
  next_gate_.assign(num_gates, -1);
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
