#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

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
        links_(graph, settings),
        ports_(graph, packets, bins),
        lines_(graph.links().size(), per_link_) {
    use_.channels = per_link_;
    for (int32_t id = 0; id < static_cast<int32_t>(graph.links().size()) * per_link_; id++) {
      lines_.channel(id).room = ports_.format(id / per_link_).buffer_bytes;
    }
  }

  int64_t part(int64_t share_before, int64_t share, int64_t bytes, uint64_t number) const {
    return part_of_message(settings_, share_before, share, bytes, number);
  }

  const Links& links() const { return links_; }

  /// What is to be said of packets, of a simulation that ended at `end`.
  PacketUse use(Picoseconds end) {
    use_.links = ports_.use(end);
    use_.waiting = ports_.take_waiting();
    return std::move(use_);
  }

 protected:
  struct Hash {
    size_t operator()(const Connection& connection) const {
      return mix(connection.stretch ^ static_cast<uint64_t>(connection.owner) << 40 ^
                 static_cast<uint64_t>(connection.path) << 24);
    }
  };

  static int32_t link_at(const Sending& sending, const Packet& packet) { return sending.begin[packet.hop]; }
  int32_t channel_at(const Sending& sending, const Packet& packet) const {
    return link_at(sending, packet) * per_link_ + std::min<int32_t>(packet.hop, per_link_ - 1);
  }
  static bool ends(const Sending& sending, const Packet& packet) {
    return sending.begin + packet.hop + 1 == sending.end;
  }

  uint32_t new_source(const Connection& connection, int32_t link) {
    const uint32_t id = sources_.make({.connection = connection, .rate = RateControl(links_[link].bandwidth)});
    sources_[id].line = lines_.make(Line::kOfSource - static_cast<int32_t>(id), link * per_link_);
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
  int64_t room_for(const Line& line) {
    if (takes_all()) return 0;
    if (!line.of_source()) return room_for(packets_[line.first]);
    const Sending& sending = sendings_[line.first];
    if (sending.begin + 1 == sending.end) return 0;
    const int64_t place = place_on(*sending.begin, ports_.bytes_on(*sending.begin, next_payload(sending)));
    return ring_of(*sending.begin) < 0 ? place : 2 * place;
  }
  int64_t room_for(const Packet& packet) {
    const Sending& sending = sendings_[packet.sending];
    if (takes_all() || ends(sending, packet)) return 0;
    const int32_t link = link_at(sending, packet), ring = ring_of(link);
    const int64_t place = place_on(link, ports_.bytes_on(link, packet.payload_bytes));
    const bool enters = ring >= 0 && (packet.hop == 0 || ring_of(sending.begin[packet.hop - 1]) != ring);
    return enters ? 2 * place : place;
  }
  /// The ring of buffers that the link's own is in, less than 0: none.
  int32_t ring_of(int32_t link) const {
    return settings_.ring_of.empty() ? -1 : settings_.ring_of[static_cast<size_t>(link)];
  }
  /// What a packet of so many bytes takes of the buffer behind the link: in a ring as much as any, so that room does
  /// not break up into pieces that are too small.
  int64_t place_on(int32_t link, int64_t bytes) { return ring_of(link) < 0 ? bytes : ports_[link].whole_bytes; }

  int64_t next_payload(const Sending& sending) const {
    return std::min(sending.bytes - sending.sent, ports_.whole_payload());
  }

  /// The next packet or train of a message.
  Packet next_packet(uint32_t id, Picoseconds now) const {
    const Sending& sending = sendings_[id];
    const int64_t payload = next_payload(sending);
    const bool whole = payload == ports_.whole_payload();
    const int64_t packets = whole ? settings_.train : settings_.formats[0].packets(payload);
    return {.sent_at = now,
            .came_at = now,
            .offset = sending.sent,
            .sending = id,
            .payload_bytes = static_cast<int32_t>(payload),
            .link_bytes = 0,
            .next = kNone,
            .hop = 0,
            .packets = static_cast<uint16_t>(packets),
            .marked = false};
  }

  /// How long the link is at a packet; `before`: the link that it came by, or the same.
  Picoseconds time_on(int32_t before, int32_t link, int64_t payload) {
    const Picoseconds serialization = links_[link].serialization(ports_.bytes_on(link, payload));
    if (!converts_) return serialization;
    const LinkFormat& format = ports_.format(link);
    if (format.split_ps == 0 || ports_.format(before).payload_bytes <= format.payload_bytes) return serialization;
    return std::max(serialization, format.split_ps * ports_.packets_on(link, payload));
  }
  /// How long the link that the packet waits behind is at it.
  Picoseconds time_on_link(const Sending& sending, const Packet& packet) {
    const int32_t link = link_at(sending, packet);
    return time_on(packet.hop == 0 ? link : sending.begin[packet.hop - 1], link, packet.payload_bytes);
  }

  /// A NIC that has begun with a message takes up no other for a while. What is still to come of messages goes on, so
  /// that a message alone is not later: that is the NIC's occupancy, not its latency.
  void keep_gap(const Sending& sending, const Packet& packet, Picoseconds now) {
    const int32_t link = link_at(sending, packet);
    const LinkFormat& format = ports_.format(link);
    if (format.gap_ps == 0 || (packet.hop > 0 && &format == &ports_.format(sending.begin[packet.hop - 1]))) return;
    Picoseconds& until = ports_[link].gap_until;
    if (packet.offset == 0) until = add_ps(std::max(until, now), format.gap_ps);
    if (packet.offset + packet.payload_bytes == sending.bytes) {
      links_[link].free_at = std::max(links_[link].free_at, until);
    }
  }

  /// When the switch behind the link can pass on a packet whose first byte goes now and whose last one comes at `tail`.
  /// NICs between links of several formats store, as they make one packet of several, or several of one. Of more
  /// packets than one the first one has come, where they are stored, and the last one keeps the next link busy.
  Picoseconds passed_on_at(const Packet& packet, const Sending& sending, Picoseconds now, Picoseconds tail) {
    const int32_t link = link_at(sending, packet), next = sending.begin[packet.hop + 1];
    const Picoseconds head = add_ps(now, links_[link].latency_ps);
    const Picoseconds whole = time_on(link, next, packet.payload_bytes);
    const bool converts =
        settings_.formats.size() > 1 && ports_.format(link).payload_bytes != ports_.format(next).payload_bytes;
    if (!links_[link].stores && !converts) return std::max(head, tail - whole);
    const int64_t stored = converts ? settings_.formats[0].payload_bytes : ports_.format(link).payload_bytes;
    if (packet.payload_bytes <= stored) return tail;
    const auto time_of_one = [&](int32_t before, int32_t at) {
      const Picoseconds wire = serialization_ps(ports_.bytes_on(at, stored), links_[at].bandwidth);
      const bool splits = ports_.format(before).payload_bytes > ports_.format(at).payload_bytes;
      return splits ? std::max(wire, ports_.format(at).split_ps * ports_.packets_on(at, stored)) : wire;
    };
    return std::max(add_ps(head, time_of_one(link, link)), tail - whole + time_of_one(link, next));
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
  Links links_;
  Ports ports_;
  Lines lines_;
  Pool<Packet> packets_;
  Pool<Source> sources_;
  Pool<Sending> sendings_;
  std::unordered_map<Connection, uint32_t, Hash> source_of_;
  PacketUse use_;
};

}  // namespace hocket::simulator
