#include "workload.hpp"

#include <algorithm>

#include "engine.hpp"

namespace hocket::simulator::astra {

Workload::Workload(Engine& engine)
    : finish_ns(engine.program.num_ranks(), -1),
      compute_ns(engine.program.num_ranks(), 0),
      progress(engine.program.num_nodes(), 0),
      first_stream(engine.program.num_nodes(), -1),
      engine_(engine),
      ranks_(engine.program.num_ranks()),
      rank_of_(engine.program.num_nodes()),
      waits_(engine.program.num_nodes()),
      streams_left_(engine.program.num_nodes(), 0) {
  const Program& program = engine.program;
  for (int32_t rank = 0; rank < program.num_ranks(); rank++) {
    ranks_[rank].left = program.rank_offset[rank + 1] - program.rank_offset[rank];
    for (int64_t node = program.rank_offset[rank]; node < program.rank_offset[rank + 1]; node++) {
      rank_of_[node] = rank;
      waits_[node] = program.waits_of(static_cast<uint32_t>(node));
      if (waits_[node] == 0) freed_.push_back(static_cast<uint32_t>(node));
    }
  }
  for (const uint32_t node : freed_) {
    ranks_[rank_of_[node]].ready[program.resource[node]].push(node);
    progress[node] = static_cast<uint8_t>(Progress::kReady);
  }
  freed_.clear();
}

void Workload::start(int32_t rank) {
  issue_ready(rank);
  finish_if_done(rank);
}

void Workload::stream_done(uint32_t node) {
  engine_.ties.touch_workload(false);
  if (--streams_left_[node] == 0) node_done(node);
}

void Workload::node_done(uint32_t node) {
  engine_.ties.touch_workload(true);
  const int32_t rank = rank_of_[node];
  ranks_[rank].busy[engine_.program.resource[node]] = false;
  release(rank, node);
  issue_ready(rank);
  finish_if_done(rank);
}

void Workload::release(int32_t rank, uint32_t node) {
  progress[node] = static_cast<uint8_t>(Progress::kDone);
  ranks_[rank].left--;
  for (const uint32_t dependent : engine_.program.dependents_of(node)) {
    if (--waits_[dependent] == 0) freed_.push_back(dependent);
  }
}

// A heap a resource instead of the peer's walk over all free nodes: the same order, at the cost of what is issued.
void Workload::issue_ready(int32_t rank) {
  Rank& state = ranks_[rank];
  const auto take_freed = [&] {
    for (const uint32_t node : freed_) {
      state.ready[engine_.program.resource[node]].push(node);
      progress[node] = static_cast<uint8_t>(Progress::kReady);
    }
    freed_.clear();
  };
  take_freed();
  while (true) {
    int first = -1;
    for (int resource = 0; resource < kNumResources; resource++) {
      if (state.busy[resource] || state.ready[resource].empty()) continue;
      // Across resources too the least id goes first, as the peer walks one ordered list of free nodes.
      if (first < 0 || state.ready[resource].top() < state.ready[first].top()) first = resource;
    }
    if (first < 0) break;
    const uint32_t node = state.ready[first].top();
    state.ready[first].pop();
    state.busy[first] = first != static_cast<int>(Resource::kNothing);
    issue(rank, node);
  }
  // A skipped node frees others within the loop above, which must not see them yet: the peer issues them after the next
  // event.
  take_freed();  // what skipped nodes freed starts with the next completion
}

void Workload::issue(int32_t rank, uint32_t node) {
  const Program& program = engine_.program;
  const Callback done{Callback::kNode, node, 0};
  Rank& state = ranks_[rank];
  progress[node] = static_cast<uint8_t>(Progress::kIssued);
  const Action action = program.action_of(node);
  const auto on_processor = program.resource[node] == static_cast<uint8_t>(Resource::kProcessor);
  state.breaks_statistics |= on_processor || action == Action::kMemory;
  switch (action) {
    case Action::kSkip:
      state.busy[program.resource[node]] = false;
      return release(rank, node);
    case Action::kReplay:
      return compute(rank, node, program.duration_ns[node]);
    case Action::kRoofline:
      return compute(rank, node, roofline_duration(node));
    case Action::kMemory:
      return engine_.memory.access(rank, node, program.tensor_bytes[node]);
    case Action::kBroadcast:
      return engine_.clock.after(rank, program.duration_ns[node], done);
    case Action::kCollective:
      first_stream[node] = engine_.collectives.next_stream(rank);
      streams_left_[node] = engine_.collectives.start(rank, node);
      return;
    case Action::kSend: {
      const uint32_t channel = engine_.channels.open(
          {static_cast<uint32_t>(program.tag[node]), rank, program.peer[node], program.bytes[node]});
      engine_.transport.send(channel, done);
      return engine_.channels.close(channel);
    }
    case Action::kReceive: {
      const uint32_t channel = engine_.channels.open(
          {static_cast<uint32_t>(program.tag[node]), program.peer[node], rank, program.bytes[node]});
      engine_.transport.receive(channel, done);
      return engine_.channels.close(channel);
    }
  }
}

void Workload::compute(int32_t rank, uint32_t node, Nanoseconds duration) {
  const bool on_processor = engine_.program.resource[node] == static_cast<uint8_t>(Resource::kProcessor);
  // What the peer calls compute is the GPU's; exposed communication is the rest of the time.
  if (!on_processor) compute_ns[rank] += duration;
  engine_.clock.after(rank, duration, {Callback::kNode, node, 0});
}

Nanoseconds Workload::roofline_duration(uint32_t node) const {
  const auto operations = static_cast<double>(engine_.program.num_ops[node]);
  const double intensity = operations / static_cast<double>(engine_.program.tensor_bytes[node]);
  const double performance =
      std::min(engine_.system.local_memory_bandwidth * intensity, engine_.system.peak_performance);
  return whole_nanoseconds(operations / performance * 1e9);
}

void Workload::finish_if_done(int32_t rank) {
  const Rank& state = ranks_[rank];
  if (state.left > 0) return;
  finish_ns[rank] = engine_.clock.now();
  // The peer's statistics throw for a rank with processor or memory nodes: swallowed in a rank's own event, fatal when
  // a message's arrival ends the rank. Users of the peer want to know which it will be.
  if (state.breaks_statistics && !in_rank_event) crashed.push_back(rank);
}

}  // namespace hocket::simulator::astra
