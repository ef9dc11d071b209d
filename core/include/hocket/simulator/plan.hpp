#pragma once

#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "hocket/schedule/dependencies.hpp"
#include "hocket/schedule/pattern.hpp"
#include "hocket/schedule/transfers.hpp"

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
  /// Routes as the plan of a pattern needs them: for connection j and copy c route j * copies + c, from member c to
  /// member `dst`, over `links[offset[..]..offset[.. + 1]]`.
  struct Routes {
    std::span<const int64_t> offset;
    std::span<const int32_t> links;
    std::span<const int32_t> dst;
  };

  /// A plan that is one copy. `bytes` of each transfer; `members[k]` is the topology rank of member k; `relays` are the
  /// other nodes where chunks may stay. Throws ScheduleError when a transfer starts or ends anywhere else, or there are
  /// 2^31 transfers or more.
  Plan(const schedule::Transfers& transfers, std::span<const int64_t> bytes, std::span<const int32_t> members,
       std::span<const int32_t> relays);

  /// A plan in which each of `copies` members sends the transfers of the pattern, of `bytes` each. With one copy the
  /// member stands for all: it sends to itself.
  /// Throws ScheduleError when the columns do not fit each other, or there would be 2^31 messages or more.
  Plan(const schedule::Pattern& pattern, std::span<const int64_t> bytes, int32_t copies, const Routes& routes);

  int32_t num_members() const { return num_members_; }
  /// Whether any message starts or ends at a relay.
  bool uses_relays() const { return messages_of_member_.back() > 0; }
  int64_t num_messages() const { return static_cast<int64_t>(bytes_.size()) * copies_; }

  int32_t route_of(int32_t message) const { return connection_[place(message)] * copies_ + copy(message); }
  /// Of all messages together.
  int64_t total_bytes() const { return total_bytes_; }
  int64_t bytes_of(int32_t message) const { return bytes_[place(message)]; }
  /// Position of the message in the schedule: copy after copy of each of its transfers.
  int32_t position(int32_t message) const { return position_[place(message)] * copies_ + copy(message); }
  /// The gate that the message's arrival helps to open, -1: none.
  int32_t feeds(int32_t message) const {
    const int32_t gate = feeds_[place(message)];
    return gate < 0 || copies_ == 1 ? gate : gate << copy_bits_ | dst(route_of(message));
  }

  int32_t src(int32_t route) const { return route_src_[route]; }
  int32_t dst(int32_t route) const { return route_dst_[route]; }
  std::span<const int32_t> links(int32_t route) const { return slice(route_links_, route_offset_, route); }
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

  // At the start of a collective: what each message waits for (its gate, and on its route the message before it or,
  // for the first, its two ends to join); the counts that `opens` takes down; the messages each member sends and
  // receives.
  std::vector<uint8_t> message_waits() const;
  std::vector<uint32_t> gate_counts() const;
  const std::vector<uint32_t>& messages_of_member() const { return messages_of_member_; }

  /// Something that the gate waits for has happened: whether it was the last.
  bool opens(int32_t gate, std::vector<uint32_t>& counts) const {
    const int32_t counter = counter_[place(gate)];
    return counter < 0 || --counts[static_cast<size_t>(counter) << copy_bits_ | copy(gate)] == 0;
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

  void number_messages(std::span<const int32_t> connection, std::span<const int64_t> bytes);
  void read_gates(const schedule::Gates& gates);
  void count_per_member();

  int32_t copies_, num_members_;
  int copy_bits_ = 0;
  std::vector<int64_t> route_offset_;
  std::vector<int32_t> route_links_, route_src_, route_dst_;
  // Of one copy: messages are placed by (connection, order on it).
  std::vector<int32_t> first_place_, connection_, position_, feeds_;
  std::vector<int64_t> bytes_;
  int64_t total_bytes_ = 0;  // of all copies
  std::vector<uint8_t> waits_;
  std::vector<int32_t> gate_offset_, gate_messages_, next_gate_;
  std::vector<int32_t> counter_;  // of each gate: its place in `counts_`, -1: it opens when anything happens
  std::vector<uint32_t> counts_;  // of the gates that wait for more
  // Of all copies.
  std::vector<int32_t> member_offset_, member_routes_;
  std::vector<uint32_t> messages_of_member_;
};

}  // namespace hocket::simulator
