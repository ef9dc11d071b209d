#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "flight.hpp"
#include "hocket/simulator/network/links.hpp"

namespace hocket::simulator {

/// Alpha-beta with links that are servers: each is busy with a message for its serialization time, first come, first
/// served by when messages set out, and keeps nobody from other links.
///
/// On a stretch of its route between nodes that store, a message asks all links at once when it sets out. It is at the
/// end of it when the last of them is done with it and the latencies have passed. So messages that set out together
/// take the latency and the load of their busiest link, in whatever order they are served. A message costs an event a
/// stretch.
class Analytical {
 public:
  Analytical(const topology::Graph& graph, const LinkSettings& settings) : links_(graph, settings) {}

  template <class Engine>
  void inject(Engine&, uint32_t id, Picoseconds now) {
    starting_.push_back({id, now, 0});
  }

  template <class Engine>
  void handle(Engine& engine, NetworkEvent, uint32_t id, Picoseconds now) {
    if (engine.flight(id).hop == engine.flight(id).end) {
      engine.deliver(id, now);
    } else {
      inject(engine, id, now);
    }
  }

  /// What sets out at this instant asks for its first link, in order, then what goes further for its second, and so on:
  /// links that do alike serve alike, so that one rank can stand for all.
  template <class Engine>
  void settle(Engine& engine, Picoseconds now) {
    while (!starting_.empty()) {
      size_t further = 0;
      for (const Start& start : starting_) {
        Start message = start;
        if (serve(engine, message, now)) {
          starting_[further++] = message;
        } else {
          engine.schedule(add_ps(message.served, message.latency_ps), NetworkEvent::kHeadArrives, message.id);
        }
      }
      starting_.resize(further);
    }
  }

  const Links& links() const { return links_; }

 private:
  /// A message that sets out on a stretch.
  struct Start {
    uint32_t id;
    Picoseconds served;      // when all links so far are done with it
    Picoseconds latency_ps;  // theirs
  };

  /// The message's next link serves it; false when the stretch is at its end.
  template <class Engine>
  bool serve(Engine& engine, Start& message, Picoseconds now) {
    Flight& flight = engine.flight(message.id);
    const int32_t id_of_link = *flight.hop++;
    Links::State& link = links_[id_of_link];
    const Picoseconds start = std::max(now, link.free_at), serialization = link.take(flight.bytes);
    link.free_at = add_ps(start, serialization);
    engine.occupied(id_of_link, start, link.free_at, serialization, message.id);
    message.served = std::max(message.served, link.free_at);
    message.latency_ps = add_ps(message.latency_ps, link.latency_ps);
    return !link.stores && flight.hop != flight.end;
  }

  Links links_;
  std::vector<Start> starting_;
};

}  // namespace hocket::simulator
