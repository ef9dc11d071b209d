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
        links_(graph, settings),
        ports_(graph, packets, bins),
        lines_(graph.links().size(), per_link_) {
    use_.channels = per_link_;
    for (int32_t id = 0; id < static_cast<int32_t>(graph.links().size()) * per_link_; id++) {
      lines_.channel(id).room = packets.buffer_bytes;
    }
  }

  /// What a path takes of a message, in whole packets: cuts lie where shares say, shifted by a part of a packet that
  /// differs from message to message, so that single packets of many messages spread too.
  int64_t part(int64_t share_before, int64_t share, int64_t bytes, uint64_t number) const {
    const int64_t packets = (bytes + settings_.payload_bytes - 1) / settings_.payload_bytes;
    const auto shift = static_cast<int64_t>(mix(settings_.seed ^ number) % topology::kWholeShare);
    const auto cut = [&](int64_t shares) {
      const auto whole = (static_cast<__int128>(packets) * shares + shift) / topology::kWholeShare;
      return std::min(bytes, static_cast<int64_t>(whole) * settings_.payload_bytes);
    };
    return cut(share_before + share) - cut(share_before);
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

  /// Bytes that the line's next packet needs in the buffer behind the link; none where its stretch ends.
  int64_t room_for(const Line& line) {
    if (settings_.flow_control != FlowControl::kCredits) return 0;
    if (line.of_source()) {
      const Sending& sending = sendings_[line.first];
      return sending.begin + 1 == sending.end ? 0 : next_packet(line.first, 0).link_bytes;
    }
    const Packet& packet = packets_[line.first];
    return ends(sendings_[packet.sending], packet) ? 0 : packet.link_bytes;
  }

  /// The next packet or train of a message.
  Packet next_packet(uint32_t id, Picoseconds now) const {
    const Sending& sending = sendings_[id];
    const int64_t payload = std::min(sending.bytes - sending.sent, settings_.payload_bytes * settings_.train);
    const bool whole = payload == settings_.payload_bytes * settings_.train;
    const int64_t packets = whole ? settings_.train : std::max<int64_t>(1, packets_in(payload));
    return {.sent_at = now,
            .offset = sending.sent,
            .sending = id,
            .payload_bytes = static_cast<int32_t>(payload),
            .link_bytes = static_cast<int32_t>(payload + packets * settings_.header_bytes),
            .next = kNone,
            .hop = 0,
            .packets = static_cast<uint16_t>(packets),
            .marked = false};
  }
  int64_t packets_in(int64_t bytes) const { return (bytes + settings_.payload_bytes - 1) / settings_.payload_bytes; }

  /// When the switch behind the link can pass on a packet whose first byte goes now and whose last one comes at `tail`:
  /// of a train the first packet has come, where the switch stores, and the last one keeps the next link busy.
  Picoseconds passed_on_at(const Packet& packet, const Sending& sending, const Links::State& state, Picoseconds now,
                           Picoseconds tail) {
    Links::State& next = links_[sending.begin[packet.hop + 1]];
    const Picoseconds head = add_ps(now, state.latency_ps);
    const Picoseconds whole = next.serialization(packet.link_bytes);
    if (!state.stores) return std::max(head, tail - whole);
    if (packet.packets == 1) return tail;
    const int64_t one = settings_.payload_bytes + settings_.header_bytes;
    return std::max(add_ps(head, serialization_ps(one, state.bandwidth)),
                    tail - whole + serialization_ps(one, next.bandwidth));
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
  const bool lossless_;
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
