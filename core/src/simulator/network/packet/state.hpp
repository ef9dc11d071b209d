#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "../flight.hpp"
#include "hocket/simulator/network/links.hpp"
#include "hocket/simulator/packets.hpp"
#include "hocket/topology/paths.hpp"
#include "lines.hpp"
#include "parts.hpp"
#include "ports.hpp"

namespace hocket::simulator {

/// What is where in a network of packets, and what that says without anything happening.
class PacketState {
 public:
  PacketState(const topology::Graph& graph, const LinkSettings& settings, const PacketSettings& packets, int32_t bins)
      : settings_(packets),
        per_link_(std::max(1, packets.channels)),
        lossless_(packets.flow_control != FlowControl::kNone),
        converts_(packets.formats.size() > 1),
        ports_(graph, settings, packets, bins),
        lines_(graph.links().size(), per_link_) {
    use_.channels = per_link_;
    for (int32_t id = 0; id < static_cast<int32_t>(graph.links().size()) * per_link_; id++) {
      lines_.channel(id).room = ports_.kind(link_of(id)).format.buffer_bytes;
    }
  }

  int64_t part(int64_t share_before, int64_t share, int64_t bytes, uint64_t number) const {
    return part_of_message(settings_, share_before, share, bytes, number);
  }

  std::vector<LinkUse> link_uses() const { return ports_.link_uses(); }

  /// What is to be said of packets, of a simulation that ended at `end`.
  PacketUse use(Picoseconds end) {
    use_.links = ports_.use(end);
    use_.waiting = ports_.take_waiting();
    return std::move(use_);
  }

 protected:
  struct Hash {
    size_t operator()(const Connection& connection) const {
      return splitmix64(connection.stretch ^ static_cast<uint64_t>(connection.owner) << 40 ^
                        static_cast<uint64_t>(connection.path) << 24);
    }
  };

  /// Of a virtual channel; one a link is the rule, and a division is slow.
  int32_t link_of(int32_t channel) const { return per_link_ == 1 ? channel : channel / per_link_; }
  int32_t channel_at(const Packet& packet) const {
    return per_link_ == 1 ? packet.link : packet.link * per_link_ + std::min<int32_t>(packet.passed, per_link_ - 1);
  }

  uint32_t new_source(const Connection& connection, int32_t link) {
    const uint32_t id = sources_.make({.connection = connection});
    sources_[id].line = lines_.make(Line::kOfSource - static_cast<int32_t>(id), link * per_link_);
    if (settings_.rate.active) {
      paces_.resize(sources_.size());
      paces_[id] = {.rate = RateControl(ports_.kind(link).bandwidth)};
    }
    return id;
  }

  /// Flights and events of the source are one less; of the last one nobody needs to know the rate any more.
  void leave_source(uint32_t id) {
    Source& source = sources_[id];
    if (--source.users > 0) return;
    source_of_.erase(source.connection);
    lines_.drop(source.line);
    sources_.drop(id);
  }

  Picoseconds ready_at(const Line& line) {
    return sendings_[line.of_source() ? line.first : packets_[line.first].sending].ready_at;
  }

  /// When the line's next packet came to the switch. Messages that begin here keep their turns among each other.
  Picoseconds came_at(const Line& line) const { return line.of_source() ? 0 : packets_[line.first].came_at; }

  /// Bytes that the line's next packet needs in the buffer behind the link; none where its stretch ends.
  int64_t room_for(const Line& line) const {
    if (takes_all()) return 0;
    if (!line.of_source()) return room_for(packets_[line.first]);
    const Sending& sending = sendings_[line.first];
    if (sending.num_links == 1) return 0;
    const int32_t link = link_of(line.channel);
    const int64_t place = place_on(link, ports_.bytes_on(link, next_payload(sending)));
    return ring_of(link) < 0 ? place : 2 * place;
  }
  int64_t room_for(const Packet& packet) const {
    if (takes_all() || packet.ends()) return 0;
    const int32_t ring = ring_of(packet.link);
    const int64_t place = place_on(packet.link, ports_.bytes_on(packet.link, packet.payload_bytes));
    const bool enters = ring >= 0 && (packet.passed == 0 || ring_of(packet.hop[-1]) != ring);
    return enters ? 2 * place : place;
  }
  /// The ring of buffers that the link's own is in, less than 0: none.
  int32_t ring_of(int32_t link) const {
    return settings_.ring_of.empty() ? -1 : settings_.ring_of[static_cast<size_t>(link)];
  }
  /// What a packet of so many bytes takes of the buffer behind the link: in a ring as much as any, so that room does
  /// not break up into pieces that are too small.
  int64_t place_on(int32_t link, int64_t bytes) const {
    return ring_of(link) < 0 ? bytes : ports_.kind(link).whole_bytes;
  }

  int64_t next_payload(const Sending& sending) const {
    return std::min(sending.bytes - sending.sent, ports_.whole_payload());
  }

  /// The next packet or train of a message.
  Packet next_packet(uint32_t id, Picoseconds now) const {
    const Sending& sending = sendings_[id];
    const int64_t payload = next_payload(sending);
    return {.hop = sending.begin,
            .sent_at = now,
            .came_at = now,
            .offset = sending.sent,
            .sending = id,
            .flight = sending.flight,
            .payload_bytes = static_cast<int32_t>(payload),
            .link_bytes = 0,
            .link = sending.begin[0],
            .next_link = sending.num_links > 1 ? sending.begin[1] : 0,
            .next = kNone,
            .left = sending.num_links,
            .passed = 0,
            .marked = false,
            .ends_message = sending.sent + payload == sending.bytes};
  }

  /// The packet is at the end of its link, and is to take the next one.
  static void pass_on(Packet& packet) {
    packet.hop++;
    packet.left--;
    packet.passed += packet.passed < UINT8_MAX;
    packet.link = packet.next_link;
    if (!packet.ends()) packet.next_link = packet.hop[1];
  }

  /// How long the link is at a packet; `before`: the link that it came by, or the same.
  Picoseconds time_on(int32_t before, int32_t link, int64_t payload) {
    LinkKind& kind = ports_.kind(link);
    const Picoseconds serialization = kind.serialization(ports_.bytes_on(kind, payload));
    if (!converts_ || kind.format.split_ps == 0) return serialization;
    if (ports_.kind(before).format.payload_bytes <= kind.format.payload_bytes) return serialization;
    return std::max(serialization, kind.format.split_ps * ports_.packets_on(kind, payload));
  }
  /// How long the link that the packet waits behind is at it.
  Picoseconds time_on_link(const Packet& packet) {
    const bool other = converts_ && packet.passed > 0;
    return time_on(other ? packet.hop[-1] : packet.link, packet.link, packet.payload_bytes);
  }

  /// A NIC that has begun with a message takes up no other for a while. What is still to come of messages goes on, so
  /// that a message alone is not later: that is the NIC's occupancy, not its latency.
  void keep_gap(const Packet& packet, Picoseconds now) {
    const LinkKind& kind = ports_.kind(packet.link);
    if (kind.format.gap_ps == 0) return;
    if (packet.passed > 0 && kind.format_number == ports_.kind(packet.hop[-1]).format_number) return;
    Picoseconds& until = ports_.gap_until(packet.link);
    if (packet.offset == 0) until = add_ps(std::max(until, now), kind.format.gap_ps);
    Ports::Port& port = ports_[packet.link];
    if (packet.ends_message) port.free_at = std::max(port.free_at, until);
  }

  /// When the switch behind the link can pass on a packet whose first byte comes at `head` and whose last one at
  /// `tail`. NICs between links of several formats store, as they make one packet of several, or several of one. Of
  /// more packets than one the first one has come, where they are stored, and the last one keeps the next link busy.
  Picoseconds passed_on_at(const Packet& packet, Picoseconds head, Picoseconds tail) {
    const int32_t link = packet.link, next = packet.next_link;
    const LinkKind &kind = ports_.kind(link), &behind = ports_.kind(next);
    const Picoseconds whole = time_on(link, next, packet.payload_bytes);
    const bool converts = converts_ && kind.format.payload_bytes != behind.format.payload_bytes;
    if (!kind.stores && !converts) return std::max(head, tail - whole);
    const int64_t stored = converts ? settings_.formats[0].payload_bytes : kind.format.payload_bytes;
    if (packet.payload_bytes <= stored) return tail;
    const auto time_of_one = [&](const LinkKind& before, const LinkKind& at) {
      const Picoseconds wire = serialization_ps(ports_.bytes_on(at, stored), at.bandwidth);
      const bool splits = before.format.payload_bytes > at.format.payload_bytes;
      return splits ? std::max(wire, at.format.split_ps * ports_.packets_on(at, stored)) : wire;
    };
    return std::max(add_ps(head, time_of_one(kind, kind)), tail - whole + time_of_one(kind, behind));
  }

  /// How long the first byte of nothing else takes over the stretch.
  Picoseconds latency_of(const Sending& sending) const {
    Picoseconds latency = 0;
    for (const int32_t* hop = sending.begin; hop != sending.end(); hop++) {
      latency = add_ps(latency, ports_.kind(*hop).latency_ps);
    }
    return latency;
  }

  /// A packet of a message is no longer under way. A message that is there may still be sent again, by who does not
  /// know.
  void forget(uint32_t id) {
    Sending& sending = sendings_[id];
    if (--sending.under_way > 0 || !sending.done || sending.queued) return;
    leave_source(sending.source);
    sendings_.drop(id);
  }

  /// Whether senders ask for no room: they stop when they are told to, or not at all.
  bool takes_all() const { return settings_.flow_control != FlowControl::kCredits; }

  const PacketSettings settings_;
  const int32_t per_link_;  // virtual channels
  const bool lossless_, converts_;
  Ports ports_;
  Lines lines_;
  Pool<Packet> packets_;
  Pool<Source> sources_;
  std::vector<Pace> paces_;  // of each source, where senders choose rates
  Pool<Sending> sendings_;
  std::vector<Timers> timers_;  // of each, where packets may be lost
  IdTable<Connection, Hash> source_of_;
  PacketUse use_;
};

}  // namespace hocket::simulator
