#pragma once

#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "hocket/schedule/dependencies.hpp"
#include "hocket/schedule/pattern.hpp"
#include "hocket/schedule/transfers.hpp"
#include "hocket/topology/paths.hpp"

namespace hocket::simulator {

/// The messages of a collective on a group and what each waits for: a schedule without its times.
///
/// A route is a connection: its messages leave in schedule order. Members are numbered 0..num_members-1; the relays
/// (switches that compute, ranks outside the group) count as one more, `num_members`, there as soon as anyone is. What
/// a message waits for is a gate (hocket/schedule/dependencies.hpp). Where all members do alike, only the messages and
/// gates of one are stored: the plan has as many copies of them as members. The number of a message or gate is its
/// place there and, in the lower bits, its copy: members keep step with each other, so that what happens together lies
/// together.
class Plan {
 public:
  /// What is one message: each transfer, or all of a connection that start together (the chunks that it carries in one
  /// step). Such a message waits for all that its transfers wait for, and arrives as a whole.
  enum class Message : uint8_t { kTransfer, kStep };

  /// Routes as the plan of a pattern needs them: for connection j and copy c route j * copies + c, from member c to
  /// member `dst`, over its `paths`.
  struct Routes {
    topology::Paths paths;
    std::span<const int32_t> dst;
  };

  /// A plan that is one copy. `bytes` of each transfer; `members[k]` is the topology rank of member k; `relays` are the
  /// other nodes where chunks may stay; `paths` of each of the transfers' routes. Throws ScheduleError when a transfer
  /// starts or ends anywhere else, or there are 2^31 transfers or more, and TopologyError for paths that are none.
  Plan(const schedule::Transfers& transfers, std::span<const int64_t> bytes, std::span<const int32_t> members,
       std::span<const int32_t> relays, topology::Paths paths, Message message);

  /// A plan in which each of `copies` members sends the transfers of the pattern, of `bytes` each. With one copy the
  /// member stands for all: it sends to itself.
  /// Throws ScheduleError when the columns do not fit each other, or there would be 2^31 messages or more.
  Plan(const schedule::Pattern& pattern, std::span<const int64_t> bytes, int32_t copies, Routes routes,
       Message message);

  int32_t num_members() const { return num_members_; }
  /// Whether any message starts or ends at a relay.
  bool uses_relays() const { return messages_of_member_.back() > 0; }
  int64_t num_messages() const { return static_cast<int64_t>(bytes_.size()) * copies_; }

  int32_t route_of(int32_t message) const { return connection_[place(message)] * copies_ + copy(message); }
  /// Of all messages together.
  int64_t total_bytes() const { return total_bytes_; }
  int64_t bytes_of(int32_t message) const { return bytes_[place(message)]; }
  /// Position of the message's first transfer in the schedule: copy after copy of each of its transfers.
  int32_t position(int32_t message) const { return position_[place(message)] * copies_ + copy(message); }
  /// When the message starts in the schedule, where messages are those of steps; of transfers their position.
  Picoseconds step(int32_t message) const { return step_.empty() ? position(message) : step_[place(message)]; }
  /// The gates that the message's arrival helps to open.
  auto feeds(int32_t message) const {
    const int32_t end = copies_ == 1 ? 0 : dst(route_of(message));
    return slice(feeds_, feeds_offset_, place(message)) |
           std::views::transform([bits = copy_bits_, end](int32_t gate) { return gate << bits | end; });
  }

  int32_t src(int32_t route) const { return route_src_[route]; }
  int32_t dst(int32_t route) const { return route_dst_[route]; }
  /// Those of all routes.
  const topology::Paths& paths() const { return paths_; }
  int32_t first_message(int32_t route) const { return first_place_[route / copies_] << copy_bits_ | route % copies_; }
  /// The message behind this one on its route. Precondition: it is not the last.
  int32_t next_on_route(int32_t message) const { return message + (1 << copy_bits_); }
  bool last_on_route(int32_t message) const {
    return place(message) + 1 == first_place_[connection_[place(message)] + 1];
  }

  /// Messages that wait for a gate, and the gate whose opening waits for it too (-1: none).
  auto waiting(int32_t gate) const {
    return slice(gate_messages_, gate_offset_, place(gate)) |
           std::views::transform([bits = copy_bits_, copy = copy(gate)](int32_t at) { return at << bits | copy; });
  }
  int32_t next_gate(int32_t gate) const {
    const int32_t next = next_gate_[place(gate)];
    return next < 0 ? -1 : next << copy_bits_ | copy(gate);
  }

  /// Routes with messages that start or end at a member.
  std::span<const int32_t> routes_at(int32_t member) const { return slice(member_routes_, member_offset_, member); }

  // At the start of a collective: what each message waits for (its gates, and on its route the message before it or,
  // for the first, its two ends to join); the counts that `opens` and `all_open` take down; the messages each member
  // sends and receives.
  std::vector<uint8_t> message_waits() const;
  std::vector<uint32_t> gate_counts() const;
  const std::vector<uint32_t>& messages_of_member() const { return messages_of_member_; }

  /// Something that the gate waits for has happened: whether it was the last.
  bool opens(int32_t gate, std::vector<uint32_t>& counts) const {
    const int32_t counter = counter_[place(gate)];
    return counter < 0 || --counts[static_cast<size_t>(counter) << copy_bits_ | copy(gate)] == 0;
  }
  /// A gate that the message waits for has opened: whether it was the last.
  bool all_open(int32_t message, std::vector<uint32_t>& counts) const {
    if (join_.empty() || join_[place(message)] < 0) return true;
    return --counts[static_cast<size_t>(join_[place(message)]) << copy_bits_ | copy(message)] == 0;
  }

 private:
  template <typename Offset>
  static std::span<const int32_t> slice(const std::vector<int32_t>& ids, const std::vector<Offset>& offset,
                                        int32_t at) {
    return {ids.data() + offset[at], static_cast<size_t>(offset[at + 1] - offset[at])};
  }

  // Of a message or a gate.
  int32_t copy(int32_t number) const { return number & ((1 << copy_bits_) - 1); }
  int32_t place(int32_t number) const { return number >> copy_bits_; }

  /// Transfers by message: those of message m are `ids[offset[m]..offset[m + 1]]`.
  struct Contents {
    std::vector<int32_t> offset, ids;
  };
  Contents number_messages(std::span<const int32_t> connection, std::span<const Picoseconds> start,
                           std::span<const int64_t> bytes, Message message);
  void read_gates(const schedule::Gates& gates, const Contents& contents);
  void count_per_member();

  int32_t copies_, num_members_;
  int copy_bits_ = 0;
  topology::Paths paths_;
  std::vector<int32_t> route_src_, route_dst_;
  // Of one copy: messages are placed by (connection, order on it).
  std::vector<int32_t> first_place_, connection_, position_;
  std::vector<int32_t> feeds_offset_, feeds_;
  std::vector<int64_t> bytes_;
  std::vector<Picoseconds> step_;
  int64_t total_bytes_ = 0;  // of all copies
  std::vector<uint8_t> waits_;
  std::vector<int32_t> gate_offset_, gate_messages_, next_gate_;
  std::vector<int32_t> counter_;  // of each gate: its place in `counts_`, -1: it opens when anything happens
  std::vector<int32_t> join_;     // the same of each message that waits for several gates; empty where none does
  std::vector<uint32_t> counts_;  // of the gates and messages that wait for more
  // Of all copies.
  std::vector<int32_t> member_offset_, member_routes_;
  std::vector<uint32_t> messages_of_member_;
};

}  // namespace hocket::simulator
