#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "flight.hpp"
#include "hocket/simulator/network/links.hpp"
#include "link_queue.hpp"

namespace hocket::simulator {

/// Links that serve one message at a time, each for its serialization time; buffers are unlimited.
///
/// First come, first served: service times are known on arrival, so a queue is only the time at which its link is free:
/// one event a hop. The other disciplines keep who waits, and choose when the link is free and all that comes at that
/// instant has come.
class Congestion {
 public:
  Congestion(const topology::Graph& graph, const LinkSettings& settings)
      : links_(graph, settings), queues_(graph.links().size()), awake_(graph.links().size(), false) {}

  template <class Engine>
  void inject(Engine& engine, uint32_t id, Picoseconds now) {
    engine.flight(id).tail = now;
    advance(engine, id, now);
  }

  /// A message that takes several paths is one as long as these are one. Behind that its parts come packet by packet in
  /// turn: each has its head where the whole one's was, and its last byte where that's last byte was.
  template <class Engine>
  void go_on(Engine& engine, uint32_t id, Picoseconds now) {
    advance(engine, id, now);
  }

  template <class Engine>
  void handle(Engine& engine, NetworkEvent what, uint32_t id, Picoseconds now) {
    if (what == NetworkEvent::kLinkFree) {
      awake_[id] = false;
      choosing_.push_back(static_cast<int32_t>(id));
    } else if (engine.flight(id).hop == engine.flight(id).end) {
      engine.deliver(id, now);
    } else {
      advance(engine, id, now);
    }
  }

  /// Free links with a queue choose: one message each in turn, until all are busy (messages without bytes leave them
  /// free). So links that do alike serve alike, one after the other, and ties break alike wherever these messages meet.
  template <class Engine>
  void settle(Engine& engine, Picoseconds now) {
    while (!choosing_.empty()) {
      size_t again = 0;
      for (const int32_t link : choosing_) {
        if (serve_next(engine, link, now)) choosing_[again++] = link;
      }
      choosing_.resize(again);
    }
  }

  const Links& links() const { return links_; }

 private:
  /// The message's head is at its next link.
  template <class Engine>
  void advance(Engine& engine, uint32_t id, Picoseconds now) {
    const Flight& flight = engine.flight(id);
    Links::State& link = links_[*flight.hop];
    // `tail` of the flight is when all of it is here; its head has just come, at `now`.
    if (link.queueing == Queueing::kFifo) return serve(engine, id, std::max(now, link.free_at), now);
    queues_[*flight.hop].push(id, flight, link.queueing);
    choosing_.push_back(*flight.hop);
  }

  /// Whether the link, if it is free, has served one of those that wait and others are left.
  template <class Engine>
  bool serve_next(Engine& engine, int32_t link, Picoseconds now) {
    LinkQueue& queue = queues_[link];
    const Links::State& state = links_[link];
    if (queue.empty()) return false;
    if (state.free_at <= now) {
      serve(engine, choose(engine, state.queueing, queue), now, now);
      return !queue.empty();
    }
    // At most one event for a link in the queue: it asks again when it wakes.
    if (!awake_[link]) engine.schedule(state.free_at, NetworkEvent::kLinkFree, static_cast<uint32_t>(link));
    awake_[link] = true;
    return false;
  }

  template <class Engine>
  uint32_t choose(Engine& engine, Queueing queueing, LinkQueue& queue) {
    switch (queueing) {
      case Queueing::kPriority:
        return queue.pop(false, [&](uint32_t id) { return -int64_t{engine.flight(id).priority}; });
      case Queueing::kSmallestRemaining:
        return queue.pop(false, [&](uint32_t id) { return engine.bytes_left(id); });
      default:
        return queue.pop(true, [](uint32_t) { return int64_t{0}; });
    }
  }

  /// The next link works on the message, whose head came at `now`, from `start`; schedules its head's arrival, or its
  /// tail's where it is stored.
  template <class Engine>
  void serve(Engine& engine, uint32_t id, Picoseconds start, Picoseconds now) {
    Flight& flight = engine.flight(id);
    const int32_t id_of_link = *flight.hop++;
    Links::State& link = links_[id_of_link];
    const Picoseconds serialization = link.take(flight.bytes);
    link.free_at = start + serialization;
    // The head goes on when the link begins to serve it (cut-through), the tail when the link has served all and all
    // has come in: a narrow link ahead delays the tail, never the head.
    Front front{start, flight.tail};
    if (flight.part) {
      // Packets of parts that come in slowly take turns: where the link has served all by when all has come in, nobody
      // waits; else the part comes out as late as the link is late, over as long as it came in.
      front.tail = std::max(link.free_at, flight.tail);
      front.head = std::max(now, front.tail - std::max(flight.tail - now, serialization));
    }
    const bool ends = flight.hop == flight.end && !flight.forks;
    front.pass(front.head, serialization, link.latency_ps, link.stores || ends);
    flight.tail = front.tail;
    engine.occupied(id_of_link, start, link.free_at, serialization, id);
    engine.schedule(front.head, NetworkEvent::kHeadArrives, id);
  }

  Links links_;
  std::vector<LinkQueue> queues_;
  std::vector<bool> awake_;        // of each link: whether it has an event for when it is free
  std::vector<int32_t> choosing_;  // links that look at their queue when the instant is settled
};

}  // namespace hocket::simulator
