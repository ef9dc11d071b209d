#pragma once

#include <cstdint>
#include <memory>

#include "hocket/simulator/astra/program.hpp"
#include "hocket/simulator/astra/setup.hpp"
#include "transport.hpp"

namespace hocket::simulator::astra {

/// Ranks in a circle, as arithmetic or as a list; positions count from 0.
struct LogicalRing {
  int32_t base;
  int32_t stride;
  int32_t size;
  int32_t position;                  // of the rank that looks at it
  const int32_t* members = nullptr;  // a communicator group's ranks in ring order

  int32_t rank_at(int32_t at) const { return members ? members[at] : base + at * stride; }
  bool operator==(const LogicalRing&) const = default;
  int32_t step(int32_t at, int32_t distance) const {
    const int32_t next = (at + distance) % size;
    return next < 0 ? next + size : next;
  }
};

/// What a stream does on one dimension, decided when the collective is issued.
struct PhasePlan {
  Kind kind;
  Algorithm algorithm;
  int32_t window;
  int32_t queue;
  int32_t direction;  // 1 clockwise, -1 the other way
  int64_t bytes;      // of the data when the phase starts
  LogicalRing ring;
  bool root_is_last;  // doubleBinaryTree: which of the two trees

  bool operator==(const PhasePlan&) const = default;
};

struct Engine;

inline constexpr Nanoseconds kFixedDelay = 10;  // of small communicator groups, whatever is configured

/// What a phase may do, on behalf of its stream.
class Endpoint {
 public:
  Endpoint(Engine& engine, uint32_t stream, int32_t rank, uint32_t tag, bool fixed_delay)
      : engine_(&engine), stream_(stream), rank_(rank), tag_(tag), fixed_delay_(fixed_delay) {}

  int32_t rank() const { return rank_; }
  Transport& transport() const;
  uint32_t open_to(int32_t dst, int64_t bytes) const;
  uint32_t open_from(int32_t src, int64_t bytes) const;
  void close(uint32_t channel) const;
  Callback when_received() const { return {Callback::kReceived, stream_, 0}; }

  /// A custom collective's messages have tags of their own; its nodes end in the phase's `custom_node_done`.
  void send_tagged(uint32_t custom_node, uint32_t tag, int32_t dst, int64_t bytes) const;
  void receive_tagged(uint32_t custom_node, uint32_t tag, int32_t src, int64_t bytes) const;
  void compute(uint32_t custom_node, Nanoseconds delay) const;

  /// Calls the phase's `processed` after the endpoint delay, and the reduction of `bytes` if it is to be one.
  void process(int64_t bytes, bool reduces) const;

  /// Calls the phase's `processed` after `delay`.
  void pass(Nanoseconds delay) const;

  /// Ends the phase, and destroys it: to be its last act.
  void finish() const;

 private:
  Callback when_done(uint32_t custom_node) const { return {Callback::kCustomNode, stream_, custom_node}; }

  Engine* engine_;
  uint32_t stream_;
  int32_t rank_;
  uint32_t tag_;
  bool fixed_delay_;  // of communicator groups
};

/// One stream's work on one dimension, as a rank sees it: it reacts to what happens.
/// Compare Algorithm of the peer, whose `run` is told what happened by an event type.
class Phase {
 public:
  virtual ~Phase() = default;
  virtual void start() = 0;
  virtual void processed() {}
  virtual void received() {}
  virtual void custom_node_done(uint32_t) {}
};

std::unique_ptr<Phase> make_phase(const PhasePlan& plan, const Endpoint& endpoint);
std::unique_ptr<Phase> make_custom_phase(const Program& graph, int32_t position, const Group* group,
                                         const Endpoint& endpoint);

/// Time that reducing `bytes` takes: two reads and a write in local memory (`bandwidth` in bytes/s), each cut to whole
/// nanoseconds; none where no bandwidth is given.
Nanoseconds reduction(int64_t bytes, double bandwidth);

/// Bytes that are left of `bytes` after a phase on `size` ranks.
int64_t bytes_after(Kind kind, Algorithm algorithm, int64_t bytes, int32_t size);

}  // namespace hocket::simulator::astra
