#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/schedule/transfers.hpp"

namespace hocket::simulator {

/// The messages of a collective on a group and what each waits for: a schedule without its times.
///
/// A route is a connection: its messages leave in schedule order. Members are numbered 0..num_members-1; the switches
/// that compute count as one more, `num_members`, which is there as soon as anyone is. Messages are numbered by (route,
/// order on the route). What a message waits for is a gate (hocket/schedule/dependencies.hpp).
class Plan {
 public:
  /// `bytes` of each transfer; `members[k]` is the topology rank of member k.
  /// Throws ScheduleError when a transfer starts or ends outside the members, or there are 2^31 transfers or more.
  Plan(const schedule::Transfers& transfers, std::span<const int64_t> bytes, std::span<const int32_t> members);

  int32_t num_members() const { return static_cast<int32_t>(messages_of_member_.size()) - 1; }
  /// Whether any message starts or ends at a switch.
  bool uses_switches() const { return messages_of_member_.back() > 0; }
  int64_t num_messages() const { return static_cast<int64_t>(bytes_.size()); }

  int32_t route_of(int32_t message) const { return route_[message]; }
  /// Of all messages together.
  int64_t total_bytes() const { return total_bytes_; }
  int64_t bytes_of(int32_t message) const { return bytes_[message]; }
  /// Position of the message in the schedule.
  int32_t position(int32_t message) const { return position_[message]; }
  /// The gate that the message's arrival helps to open, -1: none.
  int32_t feeds(int32_t message) const { return feeds_[message]; }

  int32_t src(int32_t route) const { return route_src_[route]; }
  int32_t dst(int32_t route) const { return route_dst_[route]; }
  std::span<const int32_t> links(int32_t route) const { return slice(route_links_, route_offset_, route); }
  int32_t first_message(int32_t route) const { return first_message_[route]; }
  bool last_on_route(int32_t message) const { return message + 1 == first_message_[route_[message] + 1]; }

  /// Messages that wait for a gate, and the gate whose opening waits for it too (-1: none).
  std::span<const int32_t> waiting(int32_t gate) const { return slice(gate_messages_, gate_offset_, gate); }
  int32_t next_gate(int32_t gate) const { return next_gate_[gate]; }

  /// Routes with messages that start or end at a member.
  std::span<const int32_t> routes_at(int32_t member) const { return slice(member_routes_, member_offset_, member); }

  // At the start of a collective: what each message waits for (its gate, and on its route the message before it or,
  // for the first, its two ends to join); what each gate waits for; the messages each member sends and receives.
  const std::vector<uint8_t>& message_waits() const { return message_waits_; }
  const std::vector<uint32_t>& gate_waits() const { return gate_waits_; }
  const std::vector<uint32_t>& messages_of_member() const { return messages_of_member_; }

 private:
  template <typename Offset>
  static std::span<const int32_t> slice(const std::vector<int32_t>& ids, const std::vector<Offset>& offset,
                                        int32_t at) {
    return {ids.data() + offset[at], static_cast<size_t>(offset[at + 1] - offset[at])};
  }

  void number_messages(const schedule::Transfers& transfers, std::span<const int64_t> bytes);
  void read_gates(const schedule::Transfers& transfers);
  void count_per_member();

  std::vector<int64_t> route_offset_;
  std::vector<int32_t> route_links_, route_src_, route_dst_, first_message_;
  std::vector<int32_t> route_, position_, feeds_;
  std::vector<int64_t> bytes_;
  int64_t total_bytes_ = 0;
  std::vector<int32_t> gate_offset_, gate_messages_, next_gate_;
  std::vector<int32_t> member_offset_, member_routes_;
  std::vector<uint8_t> message_waits_;
  std::vector<uint32_t> gate_waits_, messages_of_member_;
};

}  // namespace hocket::simulator
