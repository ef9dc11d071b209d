#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hocket/simulator/network/flight.hpp"
#include "hocket/simulator/network/links.hpp"
#include "hocket/simulator/network/max_min.hpp"

namespace hocket::simulator {

/// Messages as fluids that share links max-min fairly.
///
/// A message flows over each stretch of its route between nodes that store, over all links of the stretch at once, and
/// is at the end of it when it has drained and the latencies have passed. Rates change at whole picoseconds only: a
/// flow that drains between two holds its links until the later. All changes of an instant are made before any rate is
/// found. Nothing is ever faster than exact arithmetic would have it.
class Flow {
 public:
  Flow(const topology::Graph& graph, const LinkSettings& settings)
      : links_(graph, settings), sharing_(bandwidths(graph)) {}

  template <class Engine>
  void inject(Engine& engine, uint32_t id, Picoseconds now) {
    if (id >= streams_.size()) streams_.resize(id + 1);
    Flight& flight = engine.flight(id);
    Stream& stream = streams_[id];
    stream = {.left = flight.bytes * Units{kUnitsPerByte}, .start = now, .end = flight.hop};
    do {
      Links::State& link = links_[*stream.end];
      link.take(flight.bytes);
      stream.latency_ps = add_ps(stream.latency_ps, link.latency_ps);
    } while (!links_[*stream.end++].stores && stream.end != flight.end);
    if (flight.bytes == 0) return drain(engine, id, now);
    sharing_.add(id, {flight.hop, stream.end});
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
    for (const uint32_t id : sharing_.update()) {
      Stream& stream = streams_[id];
      if (stream.rate.among != 0) {
        const Units scale = Units{kPicosecondsPerSecond} * stream.rate.among;
        stream.left -= stream.rate.units * (now - stream.since) / scale;
      }
      stream.since = now;
      stream.rate = sharing_.rate(id);
      stream.drained_at = within_horizon(add_ps(now, time_to_drain(stream)));
      engine.schedule(stream.drained_at, NetworkEvent::kDrained, id);
    }
  }

  const Links& links() const { return links_; }

 private:
  /// A flight on one stretch of its route.
  struct Stream {
    Units left = 0;  // 1/kUnitsPerByte bytes still to flow at `since`
    Rate rate{};     // from then on; `among` 0: it does not flow
    Picoseconds since = 0;
    Picoseconds drained_at = 0;  // at this rate
    Picoseconds start = 0;
    Picoseconds latency_ps = 0;
    const int32_t* end = nullptr;  // of the stretch
  };

  static std::vector<Bandwidth> bandwidths(const topology::Graph& graph) {
    std::vector<Bandwidth> columns;
    for (const topology::Link& link : graph.links()) columns.push_back(link.bandwidth);
    return columns;
  }

  /// left / rate, rounded up.
  static Picoseconds time_to_drain(const Stream& stream) {
    Units scaled;
    if (__builtin_mul_overflow(stream.left, Units{kPicosecondsPerSecond} * stream.rate.among, &scaled)) {
      return kHorizon + 1;
    }
    return within_horizon((scaled + stream.rate.units - 1) / stream.rate.units);
  }

  /// All bytes of the stretch are on their way.
  template <class Engine>
  void drain(Engine& engine, uint32_t id, Picoseconds now) {
    Flight& flight = engine.flight(id);
    Stream& stream = streams_[id];
    for (; flight.hop != stream.end; flight.hop++) {
      const Picoseconds busy =
          std::min(serialization_ps(flight.bytes, links_[*flight.hop].bandwidth), now - stream.start);
      engine.occupied(*flight.hop, stream.start, now, busy, id);
    }
    stream.rate = {};
    engine.schedule(add_ps(now, stream.latency_ps), NetworkEvent::kHeadArrives, id);
  }

  Links links_;
  MaxMin sharing_;
  std::vector<Stream> streams_;
};

}  // namespace hocket::simulator
