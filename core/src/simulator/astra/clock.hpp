#pragma once

#include <cstdint>
#include <vector>

#include "../event_queue.hpp"
#include "hocket/error.hpp"
#include "hocket/simulator/astra/setup.hpp"
#include "pool.hpp"

namespace hocket::simulator::astra {

/// Longest time that anything may take, and latest time that anything may happen: sums of them stay in range.
inline constexpr Nanoseconds kLongest = Nanoseconds{1} << 53;
inline constexpr Nanoseconds kLatest = Nanoseconds{1} << 62;

/// The peer's conversion of a computed time: cut to whole nanoseconds. Throws SimulationError beyond `kLongest`.
inline Nanoseconds whole_nanoseconds(double time) {
  if (!(time < static_cast<double>(kLongest))) throw SimulationError("something takes longer than 2^53 ns (104 days)");
  return static_cast<Nanoseconds>(time);
}

/// What happens when something is over; `id` and `value` are what the comments say.
struct Callback {
  enum Kind : uint32_t {
    kNothing,
    kProcessed,         // a stream's endpoint delay; the reduction that follows, -1: none
    kReduced,           // a stream's reduction
    kReceived,          // a stream's message
    kCustomNode,        // a stream's custom collective; the node of its graph
    kNode,              // a node of the workload
    kMemoryServer,      // a server of remote memory
    kRendezvousSend,    // a handshake of a sender: its message may go
    kRendezvousReceive  // a handshake of a receiver: its message may come
  };
  Kind kind = kNothing;
  uint32_t id = 0;
  int64_t value = 0;
};

/// Time, and what is to happen in the peer's order: events of one instant in the order in which they were scheduled,
/// and the callbacks of a rank for one instant all together, at the place of the first one's event.
///
/// Ties decide much here: which chunk enters a queue first, which callback runs before which. So the order is the
/// peer's exactly: its EventQueue has a list of callbacks for each time, and each Sys a map of its own from times to
/// callbacks, which one global event empties, along with what is added meanwhile.
class Clock {
 public:
  /// Global events; `id` is what the comment says.
  enum Kind : uint32_t {
    kRank,      // a rank that has callbacks now
    kArrival,   // a message that reached the end of a link
    kLinkFree,  // a link
    kDeferred,  // a callback of this instant
  };

  explicit Clock(int32_t num_ranks) : ranks_(num_ranks) {}

  Nanoseconds now() const { return now_; }
  bool has_events() const { return !events_.empty(); }
  Event next() {
    const Event event = events_.pop();
    now_ = event.time;
    if (now_ > kLatest) throw SimulationError("the workload takes longer than 2^62 ns (146 years)");
    return event;
  }

  void at(Nanoseconds time, Kind kind, uint32_t id) { events_.push({time, kind, id}); }

  /// Runs the callback on the rank after `delay`. `source`: 0, or of what it is whose place among the rank's callbacks
  /// of that instant is known only next to others of the same source.
  void after(int32_t rank, Nanoseconds delay, Callback callback, uint32_t source = 0) {
    const Nanoseconds time = now_ + delay;
    const uint32_t entry = callbacks_.add({callback, kNone});
    std::vector<Instant>& instants = ranks_[rank];
    for (Instant& instant : instants) {
      if (instant.time != time) continue;
      is_open_ |= instant.source != source;
      return instant.callbacks.push(callbacks_, entry);
    }
    instants.push_back({time, source, {}});
    instants.back().callbacks.push(callbacks_, entry);
    at(time, kRank, static_cast<uint32_t>(rank));
  }

  /// Whether callbacks of different sources have come to one instant of a rank.
  bool is_open() const { return is_open_; }

  /// Runs the callback as an event of its own at the end of this instant.
  void defer(Callback callback) { at(now_, kDeferred, callbacks_.add({callback, kNone})); }

  Callback take_deferred(uint32_t entry) { return callbacks_.take(entry).callback; }

  /// Runs the rank's callbacks of now, with those that they add.
  template <typename Run>
  void fire(uint32_t rank, Run&& run) {
    size_t at = 0;
    while (ranks_[rank][at].time != now_) at++;
    while (!ranks_[rank][at].callbacks.empty()) {
      run(callbacks_.take(ranks_[rank][at].callbacks.pop(callbacks_)).callback);
    }
    ranks_[rank][at] = ranks_[rank].back();
    ranks_[rank].pop_back();
  }

 private:
  struct Entry {
    Callback callback;
    uint32_t next;
  };
  struct Instant {
    Nanoseconds time;
    uint32_t source;
    Chain callbacks;
  };

  Nanoseconds now_ = 0;
  bool is_open_ = false;
  EventQueue events_;
  Pool<Entry> callbacks_;
  std::vector<std::vector<Instant>> ranks_;
};

}  // namespace hocket::simulator::astra
