#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "phase.hpp"
#include "pool.hpp"
#include "ties.hpp"

namespace hocket::simulator::astra {

/// One chunk of a collective on one rank, which goes through its phases one after another.
struct Stream {
  int32_t rank;
  uint32_t node;  // of the workload, whose collective it is a part of
  int64_t priority;
  uint32_t tag;
  bool in_small_group;           // a communicator group that is not everybody
  std::vector<PhasePlan> plans;  // empty: a custom collective
  const Program* custom = nullptr;
  const Group* group = nullptr;  // of a custom collective
  int32_t position = 0;          // of the rank, in a custom collective
  uint32_t next_plan = 0;
  int32_t queue = -1;
  bool is_running = false;
  std::unique_ptr<Phase> phase;

  uint32_t num_phases() const { return custom ? 1 : static_cast<uint32_t>(plans.size()); }
};

/// The queues of all ranks. Each runs a limited number of streams at once, in order of priority; streams of equal
/// priority in order of arrival.
/// Compare SchedulerUnit of the peer's Sys.
class Streams {
 public:
  Streams(Engine& engine, int32_t num_ranks, int32_t queues_per_rank, int32_t limit)
      : engine_(engine),
        queues_per_rank_(queues_per_rank),
        limit_(limit),
        queues_(static_cast<size_t>(num_ranks) * queues_per_rank) {}

  /// Enters the queue of the stream's first phase.
  void launch(Stream stream);

  /// The phase under way is over: enters the next phase's queue, or tells the workload that the stream is done.
  void advance(uint32_t stream);

  Phase& phase_of(uint32_t stream) { return *streams_[stream].phase; }
  int32_t rank_of(uint32_t stream) const { return streams_[stream].rank; }
  uint32_t node_of(uint32_t stream) const { return streams_[stream].node; }

 private:
  struct Queue {
    std::vector<uint32_t> streams;  // those that run, then those that wait
    int32_t running = 0;
    Ties::Passage passage;
  };

  Queue& queue_of(int32_t rank, int32_t queue) { return queues_[static_cast<size_t>(rank) * queues_per_rank_ + queue]; }
  void insert(uint32_t stream);
  std::unique_ptr<Phase> make_phase(uint32_t stream, const Queue& queue, const Endpoint& endpoint);
  void pump(Queue& queue);

  Engine& engine_;
  int32_t queues_per_rank_;
  int32_t limit_;
  std::vector<Queue> queues_;
  Pool<Stream> streams_;
};

}  // namespace hocket::simulator::astra
