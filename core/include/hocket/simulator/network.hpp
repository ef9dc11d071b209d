#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "hocket/simulator/event_queue.hpp"
#include "hocket/time.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::simulator {

/// How a switch passes a message on: when it has all of it, or as soon as its head is there. Ranks always do the
/// former.
enum class Switching { kStoreAndForward, kCutThrough };

/// A message on its way. `hop..end` are the links still to take; `tail` is when all its bytes are at the current node.
struct Flight {
  const int32_t* hop;
  const int32_t* end;
  int64_t bytes;
  Picoseconds tail;
  int32_t collective;  // instance of a collective it belongs to, or -1: a single message
  int32_t message;     // its number there
  int32_t cause;       // the node that, by reaching the collective or the message, set this off after all else
};

/// What one link did in a simulation.
struct LinkUse {
  Picoseconds busy_ps = 0;
  int64_t bytes = 0;
  int64_t messages = 0;
};

/// The links as a model sees them, with their use.
class Links {
 public:
  explicit Links(const topology::Graph& graph) {
    for (const topology::Link& link : graph.links()) {
      states_.push_back({link.latency_ps, link.bandwidth, graph.is_switch(link.dst)});
    }
  }

  struct State {
    Picoseconds latency_ps;
    Bandwidth bandwidth;
    bool to_switch;
    Picoseconds free_at = 0;
    int64_t last_bytes = 0;  // serialization of the last size seen: sizes repeat, and the division is slow
    Picoseconds last_ps = 0;
    LinkUse use{};

    /// Time the link works on a message of this size, counted as use.
    Picoseconds take(int64_t bytes) {
      if (bytes != last_bytes) {
        last_bytes = bytes;
        last_ps = serialization_ps(bytes, bandwidth);
      }
      use.busy_ps = add_ps(use.busy_ps, last_ps);
      use.bytes += bytes;
      use.messages++;
      return last_ps;
    }
  };

  State& operator[](int32_t link) { return states_[link]; }
  const std::vector<State>& states() const { return states_; }

 private:
  std::vector<State> states_;
};

// A network model is a template parameter of the replay. It has
//   inject(engine, id, now): the message `engine.flight(id)` enters its route;
//   handle(engine, event): an event that the model scheduled with `engine.schedule(time, id)` is due.
// It reports a link's work with `engine.occupied(link, start, finish, id)` and calls `engine.deliver(id, now)` once.

/// Alpha-beta without contention: every message has its route to itself.
///
/// Sum of latencies + serialization: at every link (store-and-forward), or at the narrowest link of each stretch of the
/// route between ranks (cut-through).
template <Switching switching>
class Analytical {
 public:
  explicit Analytical(const topology::Graph& graph) : links_(graph) {}

  template <class Engine>
  void inject(Engine& engine, uint32_t id, Picoseconds now) {
    Flight& flight = engine.flight(id);
    Picoseconds head = now, slowest = 0;
    for (; flight.hop != flight.end; flight.hop++) {
      Links::State& link = links_[*flight.hop];
      const Picoseconds serialization = link.take(flight.bytes);
      engine.occupied(*flight.hop, head, add_ps(head, serialization), id);
      slowest = std::max(slowest, serialization);
      head = add_ps(head, link.latency_ps);
      if (switching == Switching::kStoreAndForward || !link.to_switch) head = add_ps(head, std::exchange(slowest, 0));
    }
    engine.schedule(head, id);
  }

  template <class Engine>
  void handle(Engine& engine, const Event& event) {
    engine.deliver(event.id, event.time);
  }

  const Links& links() const { return links_; }

 private:
  Links links_;
};

/// FIFO links: a link serves messages in the order in which their heads reach it, each for its serialization time.
///
/// Service times are known on arrival, so a queue is only the time at which its link is free: one event a hop.
/// Cut-through passes the head on at a switch after the latency, and the tail leaves a link neither before the link has
/// served the message nor before it has come in; buffers are unlimited.
template <Switching switching>
class Congestion {
 public:
  explicit Congestion(const topology::Graph& graph) : links_(graph) {}

  template <class Engine>
  void inject(Engine& engine, uint32_t id, Picoseconds now) {
    engine.flight(id).tail = now;
    advance(engine, id, now);
  }

  template <class Engine>
  void handle(Engine& engine, const Event& event) {
    const Flight& flight = engine.flight(event.id);
    if (flight.hop == flight.end) {
      engine.deliver(event.id, event.time);
    } else {
      advance(engine, event.id, event.time);
    }
  }

  const Links& links() const { return links_; }

 private:
  /// Queues the message at its next link and schedules its head's arrival at a switch, or its tail's at a rank.
  template <class Engine>
  void advance(Engine& engine, uint32_t id, Picoseconds now) {
    Flight& flight = engine.flight(id);
    const int32_t id_of_link = *flight.hop++;
    Links::State& link = links_[id_of_link];
    const Picoseconds start = std::max(now, link.free_at);
    link.free_at = start + link.take(flight.bytes);
    flight.tail = add_ps(std::max(link.free_at, flight.tail), link.latency_ps);
    engine.occupied(id_of_link, start, link.free_at, id);
    const bool whole = switching == Switching::kStoreAndForward || !link.to_switch;
    engine.schedule(whole ? flight.tail : start + link.latency_ps, id);
  }

  Links links_;
};

}  // namespace hocket::simulator
