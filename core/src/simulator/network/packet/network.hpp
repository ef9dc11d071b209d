#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "../flight.hpp"
#include "hocket/simulator/network/links.hpp"
#include "hocket/simulator/packets.hpp"
#include "state.hpp"

namespace hocket::simulator {

/// Messages in packets through switches with finite buffers.
///
/// A rank sends the messages of a connection one after the other, and takes turns between connections packet by packet.
/// A switch has a buffer at each link into it. A packet goes on when its head is there (where the switch stores: all of
/// it), by a faster link so late that this does not run dry. Where its link is at another packet, or what is behind
/// that link has no room, it waits in the buffer, and keeps nobody from other links. Inputs take turns at an output;
/// any number of them may send at once, as the switch inside is faster than its ports. Packets leave the buffer's count
/// when their first byte does, and its room when their last byte does. Ranks have room for all, and pass on whole
/// messages.
class PacketNetwork : public PacketState {
 public:
  using PacketState::PacketState;

  template <class Engine>
  void inject(Engine& engine, uint32_t id, Picoseconds now) {
    // What was ready before its rank came to send it is as old as that.
    if constexpr (requires { engine.ready_at(id); }) {
      set_out(engine, id, now, engine.ready_at(id));
    } else {
      set_out(engine, id, now, now);
    }
  }

  template <class Engine>
  void handle(Engine& engine, NetworkEvent what, uint32_t id, Picoseconds now) {
    const auto number = static_cast<int32_t>(id);
    switch (what) {
      case NetworkEvent::kPacketArrives:
        return arrive(engine, id, now);
      case NetworkEvent::kPacketThere:
        return finish(engine, id, now);
      case NetworkEvent::kLinkFree:
        ports_[number].awake = false;
        return serve(engine, number, now);
      case NetworkEvent::kPaused:
        ports_.pause(lines_.channel(number), number / per_link_, now);
        return;
      case NetworkEvent::kResumed:
        ports_.resume(lines_.channel(number), number / per_link_, now);
        return kick(engine, number / per_link_, now);
      case NetworkEvent::kRoom:
        lines_.channel(number).told = false;
        return kick(engine, number / per_link_, now);
      case NetworkEvent::kPaced:
        return take_turn(engine, id, now);
      case NetworkEvent::kNotified:
        sources_[id].rate.cut(now, settings_.rate);
        return leave_source(id);
      case NetworkEvent::kGoBack:
        if (sendings_[id].back_at == now) go_back(engine, id, now);
        return;
      default:
        return look_at_timeout(engine, id, now);
    }
  }

  template <class Engine>
  void settle(Engine&, Picoseconds) {}

 private:
  /// A message leaves a rank for the next; it was ready at its first one at `ready_at`.
  template <class Engine>
  void set_out(Engine& engine, uint32_t id, Picoseconds now, Picoseconds ready_at) {
    const Flight& flight = engine.flight(id);
    Sending sending{.begin = flight.hop, .end = flight.hop, .bytes = flight.bytes, .flight = id, .ready_at = ready_at};
    for (bool rank = false; !rank && sending.end != flight.end; sending.end++) {
      rank = ports_[*sending.end].to_rank;
      sending.latency_ps = add_ps(sending.latency_ps, links_[*sending.end].latency_ps);
    }
    const Connection connection = engine.connection(id);
    const auto [at, is_new] = source_of_.try_emplace(connection, kNone);
    if (is_new) at->second = new_source(connection, *flight.hop);
    sending.source = at->second;
    sources_[sending.source].users++;
    queue(engine, sendings_.make(sending), false, now);
  }

  /// A message has something to send: behind the others of its source, or before them.
  template <class Engine>
  void queue(Engine& engine, uint32_t id, bool before, Picoseconds now) {
    Sending& sending = sendings_[id];
    const Source& source = sources_[sending.source];
    Line& line = lines_[source.line];
    const bool idle = line.first == kNone;
    sending.queued = true;
    sending.next = before ? line.first : kNone;
    if (idle) {
      line.first = line.last = id;
    } else if (before) {
      line.first = id;
    } else {
      sendings_[line.last].next = id;
      line.last = id;
    }
    const int32_t link = line.channel / per_link_;
    if (!idle || source.paced) return;
    lines_.enter(source.line, link);
    kick(engine, link, now);
  }

  /// The link sends if it can, else when it is free.
  template <class Engine>
  void kick(Engine& engine, int32_t link, Picoseconds now) {
    if (ports_[link].awake) return;
    if (links_[link].free_at <= now) return serve(engine, link, now);
    wake(engine, link);
  }

  template <class Engine>
  void wake(Engine& engine, int32_t link) {
    ports_[link].awake = true;
    engine.schedule(links_[link].free_at, NetworkEvent::kLinkFree, static_cast<uint32_t>(link));
  }

  /// A free link sends one packet, if any may go: virtual channels take turns.
  template <class Engine>
  void serve(Engine& engine, int32_t link, Picoseconds now) {
    Ports::Port& port = ports_[link];
    for (int32_t tried = 0; tried < per_link_; tried++) {
      const int32_t turn = port.turn + tried < per_link_ ? port.turn + tried : port.turn + tried - per_link_;
      const int32_t id = link * per_link_ + turn;
      VirtualChannel& channel = lines_.channel(id);
      if (channel.last == kNone || channel.paused) continue;
      if (settings_.arbitration == Arbitration::kAge) {
        lines_.put_first(channel, [&](const Line& line) { return ready_at(line); });
      } else if (settings_.arbitration == Arbitration::kFifo) {
        lines_.put_first(channel, [&](const Line& line) { return came_at(line); });
      }
      if (!admits(engine, id, room_for(lines_[lines_.first(channel)]), now) && !admits_other(engine, id, now)) continue;
      const Line& line = lines_[lines_.first(channel)];
      port.turn = turn + 1 == per_link_ ? 0 : turn + 1;
      if (line.of_source()) {
        send(engine, lines_.first(channel), link, now);
      } else {
        forward(engine, channel, line.buffer, link, now);
      }
      return;
    }
  }

  /// Whether the buffer behind the channel has so much room; if not, an event comes when it may have.
  template <class Engine>
  bool admits(Engine& engine, int32_t id, int64_t bytes, Picoseconds now) {
    if (bytes == 0) return true;
    VirtualChannel& channel = lines_.channel(id);
    channel.room += channel.credits.take(now);
    if (channel.room >= bytes) return true;
    if (channel.told) return false;
    channel.told = !channel.credits.empty();
    channel.starved = !channel.told;
    if (channel.told) engine.schedule(channel.credits.next_at(), NetworkEvent::kRoom, static_cast<uint32_t>(id));
    return false;
  }

  /// Whether a packet may go on in its ring of buffers where those that want to enter may not; its line is the first
  /// then.
  template <class Engine>
  bool admits_other(Engine& engine, int32_t id, Picoseconds now) {
    if (ring_of(id / per_link_) < 0) return false;
    VirtualChannel& channel = lines_.channel(id);
    lines_.put_first(channel, [&](const Line& line) { return room_for(line); });
    return admits(engine, id, room_for(lines_[lines_.first(channel)]), now);
  }

  /// The source whose turn it is sends a packet.
  template <class Engine>
  void send(Engine& engine, uint32_t line_id, int32_t link, Picoseconds now) {
    Line& line = lines_[line_id];
    const uint32_t id = line.first, source_id = line.source();
    const Packet packet = next_packet(id, now);
    Sending& sending = sendings_[id];
    sending.under_way++;
    sending.sent += packet.payload_bytes;
    if (sending.sent == sending.bytes) {
      sending.queued = false;
      line.first = sending.next;
      if constexpr (requires { engine.has_left(id); }) {
        if (!sending.done) engine.has_left(sending.flight);  // else the flight's number may be another message's
      }
    }
    VirtualChannel& channel = lines_.channel(line.channel);
    const bool paced =
        settings_.rate.active && pace(engine, source_id, ports_.bytes_on(link, packet.payload_bytes), now);
    if (paced || line.first == kNone) {
      lines_.leave(channel, link);
    } else {
      lines_.rotate(channel);
    }
    if (!lossless_) set_timeout(engine, id, now);
    transmit(engine, packets_.make(packet), link, now);
  }

  /// Whether the source waits for its next turn: the packet that it sends now takes longer at its rate than on the
  /// link.
  template <class Engine>
  bool pace(Engine& engine, uint32_t id, int64_t bytes, Picoseconds now) {
    Source& source = sources_[id];
    const Bandwidth rate = source.rate.rate(now, settings_.rate);
    source.rate.sent(bytes, settings_.rate);
    if (source.rate.at_line_rate()) return false;
    source.paced = true;
    source.users++;
    engine.schedule(add_ps(now, serialization_ps(bytes, rate)), NetworkEvent::kPaced, id);
    return true;
  }

  /// The source may send again.
  template <class Engine>
  void take_turn(Engine& engine, uint32_t id, Picoseconds now) {
    Source& source = sources_[id];
    source.paced = false;
    const uint32_t line = source.line;
    const int32_t link = lines_[line].channel / per_link_;
    if (lines_[line].first != kNone) {
      lines_.enter(line, link);
      kick(engine, link, now);
    }
    leave_source(id);
  }

  /// A packet that waited in a buffer goes on.
  template <class Engine>
  void forward(Engine& engine, VirtualChannel& channel, int32_t buffer, int32_t link, Picoseconds now) {
    const uint32_t id = lines_.pop(channel, link, packets_);
    const int64_t bytes = packets_[id].link_bytes;
    ports_.wait(link, -bytes, now);
    VirtualChannel& behind = lines_.channel(buffer);
    if (ports_.release(behind, buffer / per_link_, bytes, now)) {
      engine.schedule(add_ps(now, links_[buffer / per_link_].latency_ps), NetworkEvent::kResumed,
                      static_cast<uint32_t>(buffer));
    }
    give_room(engine, buffer, packets_[id], now);
    transmit(engine, id, link, now);
  }

  /// A packet begins to leave a buffer over a link: the buffer's sender hears of the room when its last byte is gone.
  template <class Engine>
  void give_room(Engine& engine, int32_t buffer, const Packet& packet, Picoseconds now) {
    if (takes_all()) return;
    VirtualChannel& channel = lines_.channel(buffer);
    const Picoseconds gone = add_ps(now, time_on_link(sendings_[packet.sending], packet));
    const Picoseconds at = add_ps(gone, links_[buffer / per_link_].latency_ps);
    channel.credits.push(at, place_on(buffer / per_link_, packet.link_bytes));
    if (!std::exchange(channel.starved, false)) return;
    channel.told = true;
    engine.schedule(at, NetworkEvent::kRoom, static_cast<uint32_t>(buffer));
  }

  /// A free link sends a packet.
  template <class Engine>
  void transmit(Engine& engine, uint32_t id, int32_t link, Picoseconds now) {
    Packet& packet = packets_[id];
    const Sending& sending = sendings_[packet.sending];
    Links::State& state = links_[link];
    const Picoseconds serialization = time_on_link(sending, packet);
    packet.link_bytes = static_cast<int32_t>(ports_.bytes_on(link, packet.payload_bytes));
    state.free_at = add_ps(now, serialization);
    state.use.busy_ps = add_ps(state.use.busy_ps, serialization);
    state.use.bytes += packet.payload_bytes;
    state.use.messages += packet.offset + packet.payload_bytes == sending.bytes;
    ports_[link].packets += ports_.packets_on(link, packet.payload_bytes);
    engine.occupied(link, now, state.free_at, serialization, sending.flight);
    const Picoseconds tail = add_ps(state.free_at, state.latency_ps);
    if (converts_) keep_gap(sending, packet, now);
    const bool last = ends(sending, packet);
    if constexpr (requires { engine.moves(id, sending.begin, true, true, now, tail); }) {
      if (packet.offset == 0 && !sending.done) {
        engine.moves(sending.flight, sending.begin + packet.hop, packet.hop == 0, last, now, tail);
      }
    }
    if (last) {
      engine.schedule(tail, NetworkEvent::kPacketThere, id);
    } else {
      if (!takes_all()) lines_.channel(channel_at(sending, packet)).room -= place_on(link, packet.link_bytes);
      engine.schedule(passed_on_at(packet, sending, now, tail), NetworkEvent::kPacketArrives, id);
    }
    if (lines_.num_waiting(link) > 0 && !ports_[link].awake) wake(engine, link);
  }

  /// A packet is at a switch.
  template <class Engine>
  void arrive(Engine& engine, uint32_t id, Picoseconds now) {
    Packet& packet = packets_[id];
    const Sending& sending = sendings_[packet.sending];
    const int32_t buffer = channel_at(sending, packet);
    packet.hop++;
    const int32_t link = link_at(sending, packet), channel = channel_at(sending, packet);
    Ports::Port& port = ports_[link];
    const int64_t bytes = packet.link_bytes;
    if (links_[link].free_at <= now && lines_.num_waiting(link) == 0 && !lines_.channel(channel).paused &&
        admits(engine, channel, room_for(packet), now)) {
      // Nobody is before it: it never waits in the buffer.
      give_room(engine, buffer, packet, now);
      return transmit(engine, id, link, now);
    }
    VirtualChannel& behind = lines_.channel(buffer);
    if (!lossless_ && behind.held + bytes > ports_.format(buffer / per_link_).buffer_bytes) {
      ports_[buffer / per_link_].dropped += packet.packets;
      forget(packet.sending);
      return packets_.drop(id);
    }
    if (ports_.hold(behind, buffer / per_link_, bytes, now)) {
      engine.schedule(add_ps(now, links_[buffer / per_link_].latency_ps), NetworkEvent::kPaused,
                      static_cast<uint32_t>(buffer));
    }
    packet.came_at = now;
    ports_.wait(link, bytes, now);
    if (settings_.rate.active && !packet.marked && ports_.marks(link)) {
      packet.marked = true;
      port.marked += packet.packets;
    }
    lines_.push(buffer, channel, link, id, packets_);
    kick(engine, link, now);
  }

  /// A packet is at the end of its stretch.
  template <class Engine>
  void finish(Engine& engine, uint32_t id, Picoseconds now) {
    const Packet packet = packets_[id];
    packets_.drop(id);
    Sending& sending = sendings_[packet.sending];
    if (!sending.done && packet.marked) notify(engine, sending, now);
    if (sending.done || (!lossless_ && !is_next(engine, packet, now))) return forget(packet.sending);
    use_.packets.add(now - packet.sent_at);
    sending.received += packet.payload_bytes;
    if (sending.received < sending.bytes) return forget(packet.sending);
    const uint32_t flight_id = sending.flight;
    const Picoseconds ready_at = sending.ready_at;
    Flight& flight = engine.flight(flight_id);
    flight.hop = sending.end;
    sending.done = true;
    sending.timer_at = sending.back_at = -1;
    forget(packet.sending);
    if (flight.hop != flight.end) return set_out(engine, flight_id, now, ready_at);
    use_.messages.add(now - ready_at);
    engine.deliver(flight_id, now);
  }

  /// A receiver tells the source of a mark, not too often.
  template <class Engine>
  void notify(Engine& engine, const Sending& sending, Picoseconds now) {
    Source& source = sources_[sending.source];
    if (source.told_at >= 0 && now - source.told_at < settings_.rate.notify_ps) return;
    source.told_at = now;
    source.users++;
    use_.notifications++;
    engine.schedule(add_ps(now, sending.latency_ps), NetworkEvent::kNotified, sending.source);
  }

  /// Whether the packet is the one that its receiver waits for; of a gap it tells once.
  template <class Engine>
  bool is_next(Engine& engine, const Packet& packet, Picoseconds now) {
    Sending& sending = sendings_[packet.sending];
    const bool next = packet.offset == sending.received;
    if (next) {
      sending.told = false;
    } else if (packet.offset > sending.received && !sending.told) {
      sending.told = true;
      sending.back_at = add_ps(now, sending.latency_ps);
      engine.schedule(sending.back_at, NetworkEvent::kGoBack, packet.sending);
    }
    return next;
  }

  /// The sender begins again with what the receiver waits for (go-back-N).
  template <class Engine>
  void go_back(Engine& engine, uint32_t id, Picoseconds now) {
    Sending& sending = sendings_[id];
    sending.back_at = -1;
    use_.sent_again_bytes += sending.sent - sending.received;
    sending.sent = sending.received;
    if (!sending.queued) queue(engine, id, true, now);
  }

  template <class Engine>
  void set_timeout(Engine& engine, uint32_t id, Picoseconds now) {
    Sending& sending = sendings_[id];
    sending.timeout_at = add_ps(now, settings_.retransmit_ps);
    if (sending.timer_at >= 0) return;
    sending.timer_at = sending.timeout_at;
    engine.schedule(sending.timer_at, NetworkEvent::kTimeout, id);
  }

  /// Timers of messages that are there are left in the queue.
  template <class Engine>
  void look_at_timeout(Engine& engine, uint32_t id, Picoseconds now) {
    Sending& sending = sendings_[id];
    if (sending.timer_at != now) return;
    sending.timer_at = -1;
    if (sending.timeout_at > now) {
      sending.timer_at = sending.timeout_at;
      return engine.schedule(sending.timer_at, NetworkEvent::kTimeout, id);
    }
    // What it is about to send anyway arms the timer again.
    if (!sending.queued) return go_back(engine, id, now);
    set_timeout(engine, id, now);
  }
};

}  // namespace hocket::simulator
