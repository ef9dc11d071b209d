#include "streams.hpp"

#include <algorithm>
#include <utility>

#include "engine.hpp"

namespace hocket::simulator::astra {

void Streams::launch(Stream stream) {
  const uint32_t index = streams_.add(std::move(stream));
  insert(index);
  pump(queue_of(streams_[index].rank, streams_[index].queue));
}

void Streams::advance(uint32_t stream) {
  const std::unique_ptr<Phase> over = std::move(streams_[stream].phase);  // it is still on the call stack
  const int32_t rank = streams_[stream].rank;
  Queue& queue = queue_of(rank, streams_[stream].queue);
  // The peer's order: the workload hears of it first, then the queue it leaves, then the one it enters.
  const bool is_last = streams_[stream].next_plan == streams_[stream].num_phases();
  if (is_last) engine_.workload.stream_done(streams_[stream].node);
  std::erase(queue.streams, stream);
  engine_.ties.leave(queue.passage);
  if (is_last) {
    streams_.take(stream);
  } else {
    insert(stream);
  }
  queue.running--;
  pump(queue);
  if (!is_last) pump(queue_of(rank, streams_[stream].queue));
}

void Streams::insert(uint32_t stream) {
  Stream& entering = streams_[stream];
  entering.queue = entering.custom ? 0 : entering.plans[entering.next_plan].queue;
  entering.next_plan++;
  entering.is_running = false;
  Queue& queue = queue_of(entering.rank, entering.queue);
  engine_.ties.enter(queue.passage);
  std::vector<uint32_t>& waiting = queue.streams;
  // Behind what runs, and behind those of its own priority: first come, first served among equals.
  const auto goes_behind = [&](uint32_t other) {
    return streams_[other].is_running || streams_[other].priority >= entering.priority;
  };
  waiting.insert(std::ranges::find_if_not(waiting, goes_behind), stream);
  if (waiting.back() != stream) engine_.ties.matters();
}

std::unique_ptr<Phase> Streams::make_phase(uint32_t index, const Queue& queue, const Endpoint& endpoint) {
  const Stream& stream = streams_[index];
  if (stream.custom) {
    if (engine_.convoys) engine_.convoys->fail();
    return make_custom_phase(*stream.custom, stream.position, stream.group, endpoint);
  }
  const PhasePlan& plan = stream.plans[stream.next_plan - 1];
  if (engine_.convoys) {
    return engine_.convoys->make_phase(plan, index, stream.tag, stream.next_plan, stream.in_small_group, endpoint);
  }
  if (!engine_.lockstep) return astra::make_phase(plan, endpoint);
  return engine_.lockstep->make_phase(plan, engine_.ties.beginning(queue.passage), endpoint);
}

void Streams::pump(Queue& queue) {
  while (queue.running < limit_ && queue.running < static_cast<int32_t>(queue.streams.size())) {
    const uint32_t index = queue.streams[queue.running];
    Stream& stream = streams_[index];
    const Endpoint endpoint(engine_, index, stream.rank, stream.tag, stream.in_small_group);
    stream.is_running = true;
    stream.phase = make_phase(index, queue, endpoint);
    queue.running++;
    stream.phase->start();
  }
}

}  // namespace hocket::simulator::astra
