#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "flight.hpp"
#include "hocket/simulator/network/links.hpp"

namespace hocket::simulator {

/// Alpha-beta with links that are servers: each is busy with a message for its serialization time, first come, first
/// served by when messages set out, and keeps nobody from other links.
///
/// On a stretch of its route between nodes that store, a message asks all links at once when it sets out. It is at the
/// end of it when all of them are done with it and the latencies have passed. Messages of one step that set out
/// together are done together: a step takes the latency and the load of the busiest link, so that ranks that do alike
/// keep step, and no result depends on how they are numbered. A message costs an event a stretch.
class Analytical {
 public:
  Analytical(const topology::Graph& graph, const LinkSettings& settings) : links_(graph, settings) {}

  template <class Engine>
  void inject(Engine& engine, uint32_t id, Picoseconds) {
    const Flight& flight = engine.flight(id);
    starting_.push_back({-int64_t{flight.priority}, flight.collective, engine.step(id), id});
  }

  template <class Engine>
  void handle(Engine& engine, NetworkEvent, uint32_t id, Picoseconds now) {
    if (engine.flight(id).hop == engine.flight(id).end) {
      engine.deliver(id, now);
    } else {
      inject(engine, id, now);
    }
  }

  /// Serves what sets out at this instant, step after step.
  template <class Engine>
  void settle(Engine& engine, Picoseconds now) {
    const auto before = [](const Start& a, const Start& b) { return a.key() < b.key(); };
    // Launches come in this order; what goes on from a node that stores may not.
    if (!std::ranges::is_sorted(starting_, before)) std::ranges::stable_sort(starting_, before);
    for (size_t first = 0, end = 0; first < starting_.size(); first = end) {
      for (; end < starting_.size() && starting_[end].key() == starting_[first].key(); end++) {
        serve(engine, starting_[end].id, now);
      }
      for (size_t at = first; at < end; at++) set_out(engine, starting_[at].id, now);
    }
    starting_.clear();
  }

  const Links& links() const { return links_; }

 private:
  /// A message that sets out on a stretch: the higher its priority, the sooner; of equal ones by collective and step.
  struct Start {
    int64_t urgency;
    int32_t collective;
    int64_t step;
    uint32_t id;

    std::tuple<int64_t, int32_t, int64_t> key() const { return {urgency, collective, step}; }
  };

  /// All links of the message's stretch have it to serve.
  template <class Engine>
  void serve(Engine& engine, uint32_t id, Picoseconds now) {
    const Flight& flight = engine.flight(id);
    for (const int32_t* hop = flight.hop; hop != flight.end; hop++) {
      Links::State& link = links_[*hop];
      const Picoseconds start = std::max(now, link.free_at), serialization = link.take(flight.bytes);
      link.free_at = add_ps(start, serialization);
      engine.occupied(*hop, start, link.free_at, serialization, id);
      if (link.stores) break;
    }
  }

  /// The links of the message's stretch know when they are done with all of its step.
  template <class Engine>
  void set_out(Engine& engine, uint32_t id, Picoseconds now) {
    Flight& flight = engine.flight(id);
    Picoseconds served = now, latency_ps = 0;
    for (bool stored = false; !stored && flight.hop != flight.end; flight.hop++) {
      const Links::State& link = links_[*flight.hop];
      served = std::max(served, link.free_at);
      latency_ps = add_ps(latency_ps, link.latency_ps);
      stored = link.stores;
    }
    engine.schedule(add_ps(served, latency_ps), NetworkEvent::kHeadArrives, id);
  }

  Links links_;
  std::vector<Start> starting_;
};

}  // namespace hocket::simulator
