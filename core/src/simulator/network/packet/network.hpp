#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "../../dense_event_queue.hpp"
#include "../flight.hpp"
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
        ports_.pause(lines_.channel(number), link_of(number), now);
        return;
      case NetworkEvent::kResumed:
        ports_.resume(lines_.channel(number), link_of(number), now);
        return kick(engine, link_of(number), now);
      case NetworkEvent::kRoom:
        lines_.channel(number).told = false;
        return kick(engine, link_of(number), now);
      case NetworkEvent::kPaced:
        return take_turn(engine, id, now);
      case NetworkEvent::kNotified:
        paces_[id].rate.cut(now, settings_.rate);
        return leave_source(id);
      case NetworkEvent::kGoBack:
        if (timers_[id].back_at == now) go_back(engine, id, now);
        return;
      default:
        return look_at_timeout(engine, id, now);
    }
  }

  template <class Engine>
  void settle(Engine&, Picoseconds) {}

  /// Asks for the memory of what an event is about: what it names, what that names, and so on. Returns the flight that
  /// is looked at, or kNone.
  uint32_t fetch(Ahead when, NetworkEvent what, uint32_t id) const {
    const bool arrives = what == NetworkEvent::kPacketArrives;
    if (what == NetworkEvent::kLinkFree) {
      fetch_link(when, static_cast<int32_t>(id));
      return kNone;
    }
    if (!arrives && what != NetworkEvent::kPacketThere) return kNone;
    if (when == Ahead::kSoon) {
      packets_.fetch(id);
      return kNone;
    }
    const Packet& packet = packets_[id];
    if (when == Ahead::kNext) {
      if (arrives) {
        __builtin_prefetch(packet.hop + 2);
        ports_.fetch(packet.next_link);
        lines_.fetch_channel(channel_at(packet));
        lines_.fetch_channel(packet.next_link * per_link_);
      } else {
        sendings_.fetch(packet.sending);
      }
      return packet.left <= 2 ? packet.flight : kNone;
    }
    if (arrives && ports_[packet.next_link].num_waiting > 0) ports_.fetch_waiting(packet.next_link, packet.link);
    return kNone;
  }

 private:
  void fetch_link(Ahead when, int32_t link) const {
    const VirtualChannel& channel = lines_.channel(link * per_link_);
    if (when == Ahead::kSoon) {
      ports_.fetch(link);
      lines_.fetch_channel(link * per_link_);
    } else if (channel.last != kNone && when == Ahead::kNext) {
      lines_.fetch(channel.last);
    } else if (channel.last != kNone) {
      const Line& line = lines_[lines_.first(channel)];
      line.of_source() ? sendings_.fetch(line.first) : packets_.fetch(line.first);
    }
  }

  /// A message leaves a rank for the next; it was ready at its first one at `ready_at`.
  template <class Engine>
  void set_out(Engine& engine, uint32_t id, Picoseconds now, Picoseconds ready_at) {
    const auto& flight = engine.flight(id);
    uint16_t num_links = 0;
    while (flight.hop + num_links != flight.end && !ports_.kind(flight.hop[num_links++]).to_rank) {
    }
    const Connection connection = engine.connection(id);
    uint32_t& source = source_of_[connection];
    if (source == kNone) source = new_source(connection, *flight.hop);
    sources_[source].users++;
    const Sending sending{.begin = flight.hop,
                          .bytes = flight.bytes,
                          .ready_at = ready_at,
                          .flight = id,
                          .source = source,
                          .num_links = num_links};
    const uint32_t number = sendings_.make(sending);
    if (!lossless_) {
      timers_.resize(sendings_.size());
      timers_[number] = {};
    }
    queue(engine, number, false, now);
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
    if (!idle || source.paced) return;
    const int32_t link = link_of(line.channel);
    enter(source.line, link);
    kick(engine, link, now);
  }

  /// A line waits for the link.
  void enter(uint32_t line, int32_t link) {
    lines_.enter(line);
    ports_[link].num_waiting++;
  }

  /// The link sends if it can, else when it is free.
  template <class Engine>
  void kick(Engine& engine, int32_t link, Picoseconds now) {
    Ports::Port& port = ports_[link];
    if (port.awake) return;
    if (port.free_at <= now) return serve(engine, link, now);
    wake(engine, port, link);
  }

  template <class Engine>
  void wake(Engine& engine, Ports::Port& port, int32_t link) {
    port.awake = true;
    engine.schedule(port.free_at, NetworkEvent::kLinkFree, static_cast<uint32_t>(link));
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
      port.turn = static_cast<uint8_t>(turn + 1 == per_link_ ? 0 : turn + 1);
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
    if (ring_of(link_of(id)) < 0) return false;
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
    if (packet.ends_message) {
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
      lines_.leave(channel);
      ports_[link].num_waiting--;
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
    RateControl& control = paces_[id].rate;
    const Bandwidth rate = control.rate(now, settings_.rate);
    control.sent(bytes, settings_.rate);
    if (control.at_line_rate()) return false;
    Source& source = sources_[id];
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
    if (lines_[line].first != kNone) {
      const int32_t link = link_of(lines_[line].channel);
      enter(line, link);
      kick(engine, link, now);
    }
    leave_source(id);
  }

  /// A packet that waited in a buffer goes on.
  template <class Engine>
  void forward(Engine& engine, VirtualChannel& channel, int32_t buffer, int32_t link, Picoseconds now) {
    const auto [id, was_last] = lines_.pop(channel, packets_);
    ports_[link].num_waiting -= was_last;
    const Packet& packet = packets_[id];
    const int64_t bytes = packet.link_bytes;
    ports_.wait(link, -bytes, now);
    const int32_t before = link_of(buffer);
    if (ports_.release(lines_.channel(buffer), before, bytes, now)) {
      const Picoseconds told = add_ps(now, ports_.kind(before).latency_ps);
      engine.schedule(told, NetworkEvent::kResumed, static_cast<uint32_t>(buffer));
    }
    give_room(engine, buffer, packet, now);
    transmit(engine, id, link, now);
  }

  /// A packet begins to leave a buffer over a link: the buffer's sender hears of the room when its last byte is gone.
  template <class Engine>
  void give_room(Engine& engine, int32_t buffer, const Packet& packet, Picoseconds now) {
    if (takes_all()) return;
    VirtualChannel& channel = lines_.channel(buffer);
    const Picoseconds gone = add_ps(now, time_on_link(packet));
    const Picoseconds at = add_ps(gone, ports_.kind(link_of(buffer)).latency_ps);
    // What has come needs no place any more, whether the sender has asked for it or not.
    if (channel.credits.full()) channel.room += channel.credits.take(now);
    channel.credits.push(at, place_on(link_of(buffer), packet.link_bytes));
    if (!std::exchange(channel.starved, false)) return;
    channel.told = true;
    engine.schedule(at, NetworkEvent::kRoom, static_cast<uint32_t>(buffer));
  }

  /// A free link sends a packet.
  template <class Engine>
  void transmit(Engine& engine, uint32_t id, int32_t link, Picoseconds now) {
    Packet& packet = packets_[id];
    Ports::Port& port = ports_[link];
    const LinkKind& kind = ports_.kind(link);
    const Picoseconds serialization = time_on_link(packet);
    packet.link_bytes = static_cast<int32_t>(ports_.bytes_on(kind, packet.payload_bytes));
    port.free_at = add_ps(now, serialization);
    port.use.busy_ps = add_ps(port.use.busy_ps, serialization);
    port.use.bytes += packet.payload_bytes;
    port.use.messages += packet.ends_message;
    port.packets += ports_.packets_on(kind, packet.payload_bytes);
    engine.occupied(link, now, port.free_at, serialization, packet.flight);
    const Picoseconds head = add_ps(now, kind.latency_ps), tail = add_ps(port.free_at, kind.latency_ps);
    if (converts_) keep_gap(packet, now);
    const bool last = packet.ends();
    if constexpr (requires { engine.moves(id, packet.hop, true, true, now, head, tail); }) {
      if (packet.offset == 0 && (lossless_ || !sendings_[packet.sending].done)) {
        engine.moves(packet.flight, packet.hop, packet.passed == 0, last, now, head, tail);
      }
    }
    if (last) {
      engine.schedule(tail, NetworkEvent::kPacketThere, id);
    } else {
      if (!takes_all()) lines_.channel(channel_at(packet)).room -= place_on(link, packet.link_bytes);
      engine.schedule(passed_on_at(packet, head, tail), NetworkEvent::kPacketArrives, id);
    }
    if (port.num_waiting > 0 && !port.awake) wake(engine, port, link);
  }

  /// A packet is at a switch.
  template <class Engine>
  void arrive(Engine& engine, uint32_t id, Picoseconds now) {
    Packet& packet = packets_[id];
    const int32_t before = packet.link, buffer = channel_at(packet);
    pass_on(packet);
    const int32_t link = packet.link, channel = channel_at(packet);
    Ports::Port& port = ports_[link];
    const int64_t bytes = packet.link_bytes;
    const bool paused = port.num_paused > 0 && lines_.channel(channel).paused;
    if (port.free_at <= now && port.num_waiting == 0 && !paused && admits(engine, channel, room_for(packet), now)) {
      // Nobody is before it: it never waits in the buffer.
      give_room(engine, buffer, packet, now);
      return transmit(engine, id, link, now);
    }
    VirtualChannel& behind = lines_.channel(buffer);
    if (!lossless_ && behind.held + bytes > ports_.kind(before).format.buffer_bytes) {
      ports_.lose(before, packet.payload_bytes);
      forget(packet.sending);
      return packets_.drop(id);
    }
    if (ports_.hold(behind, before, bytes, now)) {
      const Picoseconds told = add_ps(now, ports_.kind(before).latency_ps);
      engine.schedule(told, NetworkEvent::kPaused, static_cast<uint32_t>(buffer));
    }
    packet.came_at = now;
    ports_.wait(link, bytes, now);
    if (settings_.rate.active && !packet.marked) packet.marked = ports_.marks(link, packet.payload_bytes);
    port.num_waiting += lines_.push(buffer, channel, id, packets_);
    kick(engine, link, now);
  }

  /// A packet is at the end of its stretch.
  template <class Engine>
  void finish(Engine& engine, uint32_t id, Picoseconds now) {
    const Packet packet = packets_[id];
    packets_.drop(id);
    Sending& sending = sendings_[packet.sending];
    if (packet.marked && !sending.done) notify(engine, sending, now);
    if (sending.done || (!lossless_ && !is_next(engine, packet, now))) return forget(packet.sending);
    use_.packets.add(now - packet.sent_at);
    sending.received += packet.payload_bytes;
    if (sending.received < sending.bytes) return forget(packet.sending);
    const uint32_t flight_id = sending.flight;
    const Picoseconds ready_at = sending.ready_at;
    auto& flight = engine.flight(flight_id);
    flight.hop = sending.end();
    sending.done = true;
    if (!lossless_) timers_[packet.sending].timer_at = timers_[packet.sending].back_at = -1;
    forget(packet.sending);
    if (flight.hop != flight.end) return set_out(engine, flight_id, now, ready_at);
    use_.messages.add(now - ready_at);
    engine.deliver(flight_id, now);
  }

  /// A receiver tells the source of a mark, not too often.
  template <class Engine>
  void notify(Engine& engine, const Sending& sending, Picoseconds now) {
    Pace& pace = paces_[sending.source];
    if (pace.told_at >= 0 && now - pace.told_at < settings_.rate.notify_ps) return;
    pace.told_at = now;
    sources_[sending.source].users++;
    use_.notifications++;
    engine.schedule(add_ps(now, latency_of(sending)), NetworkEvent::kNotified, sending.source);
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
      timers_[packet.sending].back_at = add_ps(now, latency_of(sending));
      engine.schedule(timers_[packet.sending].back_at, NetworkEvent::kGoBack, packet.sending);
    }
    return next;
  }

  /// The sender begins again with what the receiver waits for (go-back-N).
  template <class Engine>
  void go_back(Engine& engine, uint32_t id, Picoseconds now) {
    Sending& sending = sendings_[id];
    timers_[id].back_at = -1;
    use_.sent_again_bytes += sending.sent - sending.received;
    sending.sent = sending.received;
    if (!sending.queued) queue(engine, id, true, now);
  }

  template <class Engine>
  void set_timeout(Engine& engine, uint32_t id, Picoseconds now) {
    Timers& timers = timers_[id];
    timers.timeout_at = add_ps(now, settings_.retransmit_ps);
    if (timers.timer_at >= 0) return;
    timers.timer_at = timers.timeout_at;
    engine.schedule(timers.timer_at, NetworkEvent::kTimeout, id);
  }

  /// Timers of messages that are there are left in the queue.
  template <class Engine>
  void look_at_timeout(Engine& engine, uint32_t id, Picoseconds now) {
    Timers& timers = timers_[id];
    if (timers.timer_at != now) return;
    timers.timer_at = -1;
    if (timers.timeout_at > now) {
      timers.timer_at = timers.timeout_at;
      return engine.schedule(timers.timer_at, NetworkEvent::kTimeout, id);
    }
    // What it is about to send anyway arms the timer again.
    if (!sendings_[id].queued) return go_back(engine, id, now);
    set_timeout(engine, id, now);
  }
};

}  // namespace hocket::simulator
