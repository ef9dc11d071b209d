#include "hocket/simulator/astra/simulate.hpp"

#include <algorithm>

#include "engine.hpp"
#include "hocket/error.hpp"

namespace hocket::simulator::astra {
namespace {

int32_t product_of_sizes(std::span<const Dimension> dimensions) {
  int32_t product = 1;
  for (const Dimension& dimension : dimensions) product *= dimension.size;
  return product;
}

}  // namespace

Engine::Engine(std::span<const Dimension> dimensions, const System& system, const RemoteMemory& memory,
               std::span<const Group> groups, const Program& program, std::span<const Program> custom)
    : dimensions(dimensions),
      system(system),
      groups(groups),
      program(program),
      custom(custom),
      num_ranks(product_of_sizes(dimensions)),
      clock(program.num_ranks()),
      links(dimensions, system.congestion, clock, messages),
      channels(links, clock, messages),
      transport(channels, system.rendezvous),
      streams(*this, program.num_ranks(), static_cast<int32_t>(dimensions.size()) * system.queues_per_dimension,
              (system.active_chunks + system.queues_per_dimension - 1) / system.queues_per_dimension),
      collectives(*this),
      memory(memory, clock),
      workload(*this) {}

void Engine::run() {
  const auto run_callback = [this](const Callback& callback) { call(callback); };
  const auto time_of = [this](uint32_t channel) -> const LinkTime& { return channels.time_of(channel); };
  for (int32_t rank = 0; rank < program.num_ranks(); rank++) workload.start(rank);
  while (clock.has_events()) {
    const Event event = clock.next();
    // Given up at once: the caller runs the full simulation instead.
    if ((lockstep && ties.mattered_before(event.time)) || (convoys && convoys->has_failed())) return;
    if (events++ == 0 && event.time == 0) {
      throw SimulationError("ASTRA-sim aborts when something lasts 0 ns at time 0: raise endpoint-delay or latencies");
    }
    switch (event.kind) {
      case Clock::kRank:
        if (convoys) convoys->touch(static_cast<int32_t>(event.id));
        workload.in_rank_event = true;
        clock.fire(event.id, run_callback);
        workload.in_rank_event = false;
        break;
      case Clock::kArrival:
        if (convoys) {
          const ChannelKey& key = channels.key_of(messages[event.id].channel);
          convoys->touch(key.src);
          convoys->touch(key.dst);
        }
        channels.arrive(event.id, run_callback);
        break;
      case Clock::kLinkFree:
        links.free(event.id, time_of);
        break;
      case Clock::kDeferred:
        call(clock.take_deferred(event.id));
        break;
    }
  }
}

// One switch in place of a std::function for each callback: 16 bytes a callback, and no allocation.
void Engine::call(const Callback& callback) {
  switch (callback.kind) {
    case Callback::kNothing:
      break;
    case Callback::kProcessed:
      if (callback.value < 0) {
        streams.phase_of(callback.id).processed();
      } else {
        clock.after(streams.rank_of(callback.id), callback.value, {Callback::kReduced, callback.id, 0});
      }
      break;
    case Callback::kReduced:
      streams.phase_of(callback.id).processed();
      break;
    case Callback::kReceived:
      streams.phase_of(callback.id).received();
      break;
    case Callback::kCustomNode:
      streams.phase_of(callback.id).custom_node_done(static_cast<uint32_t>(callback.value));
      break;
    case Callback::kNode:
      ties.follow_alone();
      workload.node_done(callback.id);
      break;
    case Callback::kMemoryServer:
      memory.free(static_cast<int32_t>(callback.value));
      break;
    case Callback::kRendezvousSend:
      transport.agreed_to_send(callback.id);
      break;
    case Callback::kRendezvousReceive:
      transport.agreed_to_receive(callback.id);
      break;
  }
}

uint32_t Engine::node_behind(const Callback& callback) const {
  const Callback& purpose = transport.purpose(callback);
  return purpose.kind == Callback::kNode ? purpose.id : streams.node_of(purpose.id);
}

Outcome Engine::outcome() const {
  Outcome outcome;
  outcome.finish_ns = workload.finish_ns;
  outcome.compute_ns = workload.compute_ns;
  outcome.progress = workload.progress;
  outcome.first_stream = workload.first_stream;
  outcome.crashed = workload.crashed;
  channels.each_waiting([&](const ChannelKey& key, const Callback& received) {
    outcome.waiting.push_back({node_behind(received), key.src, key.bytes});
  });
  outcome.byte_hops = links.byte_hops();
  outcome.partly_charged = links.partly_charged();
  outcome.uncharged_ns = links.uncharged();
  outcome.messages = links.messages();
  outcome.events = events;
  return outcome;
}

std::optional<Outcome> simulate_in_convoys(std::span<const Dimension> dimensions, const System& system,
                                           const RemoteMemory& memory, std::span<const Group> groups,
                                           const Program& workload) {
  Engine engine(dimensions, system, memory, groups, workload, {});
  if (!Convoys::suits(engine)) return std::nullopt;
  engine.convoys.emplace(engine);
  try {
    engine.run();
  } catch (const SimulationError&) {
    return std::nullopt;  // what is wrong is said where all is run
  }
  // Ranks that wait for ever, and more that crash than one, are told of in the order of what was run.
  const bool has_ended = std::ranges::all_of(engine.workload.finish_ns, [](Nanoseconds time) { return time >= 0; });
  if (engine.convoys->has_failed() || !has_ended || engine.workload.crashed.size() > 1) return std::nullopt;
  engine.convoys->count();
  return engine.outcome();
}

Outcome simulate(std::span<const Dimension> dimensions, const System& system, const RemoteMemory& memory,
                 std::span<const Group> groups, const Program& workload, std::span<const Program> custom) {
  Engine engine(dimensions, system, memory, groups, workload, custom);
  engine.run();
  return engine.outcome();
}

std::optional<Outcome> simulate_alike(std::span<const Dimension> dimensions, const System& system,
                                      const RemoteMemory& memory, const Program& workload) {
  Engine engine(dimensions, system, memory, {}, workload, {});
  if (!Lockstep::suits(engine)) return std::nullopt;
  engine.lockstep.emplace(engine);
  engine.run();
  const Nanoseconds finish = engine.workload.finish_ns.front();
  // Ties that mattered only after the last node are of no interest.
  if (finish < 0 || engine.ties.mattered_before(finish)) return std::nullopt;
  engine.lockstep->count();
  Outcome outcome = engine.outcome();
  outcome.finish_ns.assign(engine.num_ranks, finish);
  outcome.compute_ns.assign(engine.num_ranks, engine.workload.compute_ns.front());
  return outcome;
}

}  // namespace hocket::simulator::astra
