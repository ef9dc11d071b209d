#pragma once

#include <algorithm>
#include <cstdint>

#include "hocket/time.hpp"

namespace hocket::simulator {

/// How far a message has come: when its head and its last byte are at a node.
struct Front {
  Picoseconds head;
  Picoseconds tail;

  /// Takes the message over a link that serves it from `start`, not before its head is there, for `serialization`. The
  /// tail leaves the link neither before it has served the message nor before the tail has come in. A node that stores
  /// lets the head go on only when the tail is there. The one formula of flight under every model and bound.
  void pass(Picoseconds start, Picoseconds serialization, Picoseconds latency, bool stores) {
    tail = add_ps(std::max(add_ps(start, serialization), tail), latency);
    head = stores ? tail : add_ps(start, latency);
  }
};

/// A message on its way. `hop..end` are the links still to take.
struct Flight {
  const int32_t* hop;
  const int32_t* end;
  int64_t bytes;
  Picoseconds tail;    // when all its bytes are at the current node
  int32_t collective;  // instance of a collective it belongs to, or -1: a single message
  int32_t message;     // its number there
  int32_t cause;       // the node that, by reaching the collective or the message, set this off after all else
  int32_t priority;    // the higher, the sooner it is served
  bool forks = false;  // whether at `end` it is divided among several paths, and not stored
  bool part = false;   // of a message on several paths: packets of others are between its own
  int64_t weight = 1;  // of what it carries beside others: equal for whole messages, of a part in proportion to it
};

/// What messages follow one another on: a stretch of a path of a collective (a number from 0 up) or of a stream of
/// single messages (-1 - its number), of which `path` is that many-th.
struct Connection {
  int32_t owner;
  int32_t path;
  uint64_t stretch;

  bool operator==(const Connection&) const = default;
};

/// What the events of a network model are about.
enum class NetworkEvent : uint32_t {
  kHeadArrives,  // a flight is at the next node of its route
  kLinkFree,     // a link with a queue
  kDrained,      // a flight's bytes are on their way, when it still flows at that rate
  // Of packets:
  kPacketArrives,  // a packet is at the next switch, as far as that needs it to pass it on
  kPacketThere,    // a packet is at the end of its stretch
  kPaused,         // a virtual channel hears that it is to stop,
  kResumed,        // that it is to go on,
  kRoom,           // or that there is room
  kPaced,          // a source may send again at its rate
  kNotified,       // a source hears of marks
  kGoBack,         // the sender of a flight hears of a gap
  kTimeout,        // the sender of a flight looks whether it has heard too little
};

// A network model is a template parameter of the replay. It has
//   inject(engine, id, now): the message `engine.flight(id)` enters its route;
//   handle(engine, what, id, now): what it scheduled with `engine.schedule(time, what, id)` is due;
//   settle(engine, now): all injections and events of this instant are handled (until others follow at this instant).
// A network whose messages go in packets has `part(share_before, share, bytes, number)`: what the path with that share
// takes of the number-th message, in whole packets.
// It reports a link's work with `engine.occupied(link, start, finish, busy, id)` and calls `engine.deliver(id, now)`
// once. Of packets an engine may also have `ready_at(id)`, since when the message waits for its rank, and hear of
// `has_left(id)`, the last byte that leaves a rank, and `moves(id, hop, first, last, now, head, tail)`, the first
// packet that goes over the link `*hop` (the first or last one of its stretch) from `now` on, to be there from `head`
// on and as a whole at `tail`.

}  // namespace hocket::simulator
