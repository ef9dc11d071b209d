#pragma once

#include <cstdint>

#include "flight.hpp"
#include "hocket/simulator/network/links.hpp"

namespace hocket::simulator {

/// Alpha-beta where every message has its route to itself, whatever else is on it: links are shared for free.
///
/// Sum of latencies + serialization at the narrowest link of each stretch of the route between nodes that store.
class Uncontended {
 public:
  Uncontended(const topology::Graph& graph, const LinkSettings& settings) : links_(graph, settings) {}

  template <class Engine>
  void inject(Engine& engine, uint32_t id, Picoseconds now) {
    Flight& flight = engine.flight(id);
    // All hops at once, in one event: nobody else can change what happens on the way.
    Front front{now, now};
    for (; flight.hop != flight.end; flight.hop++) {
      Links::State& link = links_[*flight.hop];
      const Picoseconds serialization = link.take(flight.bytes);
      engine.occupied(*flight.hop, front.head, add_ps(front.head, serialization), serialization, id);
      front.pass(front.head, serialization, link.latency_ps, link.stores);
    }
    engine.schedule(front.tail, NetworkEvent::kHeadArrives, id);
  }

  template <class Engine>
  void handle(Engine& engine, NetworkEvent, uint32_t id, Picoseconds now) {
    engine.deliver(id, now);
  }

  template <class Engine>
  void settle(Engine&, Picoseconds) {}

  const Links& links() const { return links_; }

 private:
  Links links_;
};

}  // namespace hocket::simulator
