#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flight.hpp"
#include "hocket/simulator/network/links.hpp"
#include "max_min.hpp"

namespace hocket::simulator {

/// Messages as fluids that share links max-min fairly. A part of a message weighs what it is of it, so that a message
/// on many paths gets no more of a link than one on one path.
///
/// A message flows over each stretch of its route between nodes that store, over all links of the stretch at once, and
/// is at the end of it when it has drained and the latencies have passed. Messages of a collective that come to a
/// stretch by one route follow one another, as on a connection; so do single messages of one stream. Rates change at
/// whole picoseconds only: a flow that drains between two holds its links until the later. All changes of an instant
/// are made before any rate is found. Nothing is ever faster than exact arithmetic would have it.
class Flow {
 public:
  Flow(const topology::Graph& graph, const LinkSettings& settings)
      : links_(graph, settings), sharing_(bandwidths(graph)), alike_(settings.alike) {}

  template <class Engine>
  void inject(Engine& engine, uint32_t id, Picoseconds now) {
    if (id >= streams_.size()) streams_.resize(id + 1);
    const Flight& flight = engine.flight(id);
    Stream& stream = streams_[id];
    const Units left = flight.bytes * Units{kUnitsPerByte};
    stream = {.left = left, .weight = flight.weight, .begin = flight.hop, .end = flight.hop};
    // The stretch ends with the first link whose far end stores, or the route.
    while (!links_[*stream.end++].stores && stream.end != flight.end) {
    }
    // Without this the messages of one connection would share it with each other, and a pipeline of n chunks would move
    // as n slow ones that all arrive at the end.
    stream.connection = engine.connection(id);
    const auto [last, first] = last_on_.try_emplace(stream.connection, id);
    if (first) return flow(engine, id, now);
    streams_[std::exchange(last->second, id)].next = static_cast<int32_t>(id);
  }

  template <class Engine>
  void handle(Engine& engine, NetworkEvent what, uint32_t id, Picoseconds now) {
    if (what == NetworkEvent::kDrained) {
      // Events of rates that have changed since are left in the queue.
      if (streams_[id].rate.among == 0 || streams_[id].drained_at != now) return;
      sharing_.remove(id);
      drain(engine, id, now);
    } else if (engine.flight(id).hop == engine.flight(id).end) {
      engine.deliver(id, now);
    } else {
      inject(engine, id, now);
    }
  }

  /// Finds the rates after the changes of this instant.
  template <class Engine>
  void settle(Engine& engine, Picoseconds now) {
    // What has flowed is rounded down, so what is left is never too little.
    for (const uint32_t id : sharing_.update()) {
      Stream& stream = streams_[id];
      if (stream.rate.among != 0) stream.left -= flowed(stream, now);
      stream.since = now;
      stream.rate = sharing_.rate(id);
      stream.drained_at = within_horizon(now + time_to_drain(stream));
      engine.schedule(stream.drained_at, NetworkEvent::kDrained, id);
    }
  }

  const Links& links() const { return links_; }

 private:
  /// A flight on the stretch `begin..end` of its route.
  struct Stream {
    Units left = 0;  // 1/kUnitsPerByte bytes still to flow at `since`
    Rate rate{};     // from then on, for each unit of its weight; `among` 0: it does not flow
    int64_t weight = 1;
    Picoseconds since = 0;
    Picoseconds drained_at = 0;  // at this rate
    Picoseconds start = 0;
    Picoseconds latency_ps = 0;
    const int32_t* begin = nullptr;
    const int32_t* end = nullptr;
    Connection connection{};
    int32_t next = -1;  // flight that flows when this one has drained, -1: none yet

    // Units a picosecond are the quotient of the two, which fit 128 bits: 2^83 times weights of 2^40, and 2^40 * 2^63.
    Units units_a_second() const { return rate.units * weight; }
    Units scale() const { return Units{kPicosecondsPerSecond} * rate.among; }
  };

  // Neighbouring routes differ in low bits of the stretch, owners and paths in the number: all are spread by Fibonacci
  // hashing.
  struct Hash {
    size_t operator()(const Connection& connection) const {
      const uint64_t owner = static_cast<uint64_t>(connection.owner) << 40;
      const uint64_t path = static_cast<uint64_t>(connection.path) << 24;
      return (connection.stretch ^ owner ^ path) * 0x9e3779b97f4a7c15u >> 7;
    }
  };

  static std::vector<Bandwidth> bandwidths(const topology::Graph& graph) {
    std::vector<Bandwidth> columns;
    for (const topology::Link& link : graph.links()) columns.push_back(link.bandwidth);
    return columns;
  }

  struct Quotient {
    Units whole, left;  // left: of the divisor
  };

  /// a * b / c; where it is 2^124 or more, anything from there on. None is negative, b and c are below 2^123.
  static Quotient divided(Units a, Units b, Units c) {
    Units product;
    if (!__builtin_mul_overflow(a, b, &product)) return {product / c, product % c};
    // Bit by bit of a, as long as what the bits so far make is not too much already.
    Quotient quotient{0, 0};
    for (int bit = 126; bit >= 0 && quotient.whole >> 124 == 0; bit--) {
      const bool set = a >> bit & 1;
      const Units left = 2 * quotient.left + (set ? b % c : 0);
      quotient = {2 * quotient.whole + (set ? b / c : 0) + left / c, left % c};
    }
    return quotient;
  }

  /// Rate * time, rounded down.
  static Units flowed(const Stream& stream, Picoseconds now) {
    return divided(now - stream.since, stream.units_a_second(), stream.scale()).whole;
  }

  /// left / rate, rounded up.
  static Units time_to_drain(const Stream& stream) {
    const Quotient time = divided(stream.left, stream.scale(), stream.units_a_second());
    return time.whole + (time.left > 0);
  }

  /// The flight's turn on its connection.
  template <class Engine>
  void flow(Engine& engine, uint32_t id, Picoseconds now) {
    Stream& stream = streams_[id];
    const int64_t bytes = engine.flight(id).bytes;
    stream.since = stream.start = now;
    for (const int32_t* hop = stream.begin; hop != stream.end; hop++) {
      links_[*hop].take(bytes);
      stream.latency_ps = add_ps(stream.latency_ps, links_[*hop].latency_ps);
    }
    // A message without bytes takes no share, only latency.
    if (bytes == 0) return drain(engine, id, now);
    sharing_.add(id, {stream.begin, stream.end}, stream.weight, alike_);
  }

  /// All bytes of the stretch are on their way.
  template <class Engine>
  void drain(Engine& engine, uint32_t id, Picoseconds now) {
    Flight& flight = engine.flight(id);
    Stream& stream = streams_[id];
    for (; flight.hop != stream.end; flight.hop++) {
      // Busy for the work it did: the time alone on the link, though it may have shared it for longer.
      const Picoseconds whole = serialization_ps(flight.bytes, links_[*flight.hop].bandwidth);
      engine.occupied(*flight.hop, stream.start, now, std::min(whole, now - stream.start), id);
    }
    stream.rate = {};
    engine.schedule(add_ps(now, stream.latency_ps), NetworkEvent::kHeadArrives, id);
    if (stream.next >= 0) {
      flow(engine, static_cast<uint32_t>(stream.next), now);
    } else {
      last_on_.erase(stream.connection);
    }
  }

  Links links_;
  MaxMin sharing_;
  const int64_t alike_;
  std::vector<Stream> streams_;
  std::unordered_map<Connection, uint32_t, Hash> last_on_;  // who came last of those that flow on it or wait for it
};

}  // namespace hocket::simulator
