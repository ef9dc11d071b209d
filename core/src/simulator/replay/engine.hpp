#pragma once

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "../event_queue.hpp"
#include "../network/packet/network.hpp"
#include "computations.hpp"
#include "flights.hpp"
#include "hocket/simulator/replay.hpp"
#include "launches.hpp"

namespace hocket::simulator {

// Each file that includes it has its own, so that what is called in one place is inlined there.
namespace {

/// A collective in flight.
/// Made when its first member joins and emptied when its last one leaves, so that memory is for collectives under way,
/// not for all of a job.
struct Collective {
  std::vector<uint8_t> message_waits;
  std::vector<uint32_t> gate_counts;
  std::vector<uint32_t> left;  // messages each member (the last: all switches) has still to send or receive
  std::vector<int32_t> node;   // of each member that has joined
  int32_t members_left;        // switches count as one
  int64_t bytes_left;          // to be delivered
};

/// The one engine under every model: ranks that run their nodes, collectives and messages in flight, one event queue.
///
/// An instant has two halves. First all events of the time are handled: they only note what they set off (`finished_`,
/// `computations_`, `launches_`, `accesses_`). Then `settle` works these off in a fixed order. So what a rank starts
/// at an instant does not depend on the order of the instant's events; only where messages reach a link at the same
/// time does the order in which their events were pushed decide, and `EventQueue` keeps it.
template <class Network>
class Replay {
 public:
  Replay(const Job& job, const std::vector<const Plan*>& plans, const topology::Graph& graph, const Fidelity& fidelity)
      : job_(job),
        plans_(plans),
        network_(network_of(graph, fidelity)),
        record_occupancy_(fidelity.record_occupancy),
        flights_(job, plans, graph, fidelity.adaptive),
        computations_(job, fidelity.slowdown),
        waits_(job.waits),
        memory_free_at_(job.accesses.memory.size(), 0),
        arrived_(job.messages.bytes.size(), false),
        collectives_(job.plan_of.size()) {
    outcome_.start_ps.assign(job.num_nodes(), -1);
    outcome_.finish_ps.assign(job.num_nodes(), -1);
    outcome_.cause.resize(job.num_nodes());
    std::iota(outcome_.cause.begin(), outcome_.cause.end(), 0);
    outcome_.bins = LinkBins(graph.links().size(), fidelity.link_bins);
  }

  Outcome run() {
    for (int32_t node = 0; node < job_.num_nodes(); node++) {
      if (waits_[node] == 0) start(node, 0);
    }
    settle(0);
    while (!queue_.empty()) {
      Event event;
      do {
        event = queue_.pop();
        // How often a link wakes up for its queue depends on how ties break.
        if (event.kind != static_cast<uint32_t>(NetworkEvent::kLinkFree)) outcome_.events++;
        if (event.kind == kComputeEvent) {
          const int32_t node = computations_.finish(static_cast<int32_t>(event.id), event.time, outcome_.start_ps);
          if (node >= 0) finish(node, event.time);
        } else if (event.kind == kNodeEvent) {
          finish(static_cast<int32_t>(event.id), event.time);
        } else {
          network_.handle(*this, static_cast<NetworkEvent>(event.kind), event.id, event.time);
        }
      } while (queue_.more_now());
      settle(event.time);
    }
    outcome_.slowed_ps = computations_.take_slowed();
    if constexpr (kInPackets) {
      outcome_.links = network_.link_uses();
      Picoseconds end = 0;
      for (const Picoseconds finish : outcome_.finish_ps) end = std::max(end, finish);
      outcome_.packets = network_.use(end);
    } else {
      for (const Links::State& link : network_.links().states()) outcome_.links.push_back(link.use);
    }
    return std::move(outcome_);
  }

  // What a network model sees of the engine.
  Flight& flight(uint32_t id) { return flights_[id]; }
  void schedule(Picoseconds time, NetworkEvent what, uint32_t id) {
    queue_.push({within_horizon(time), static_cast<uint32_t>(what), id});
  }
  /// Bytes of the flight's collective (of a single message: its own) that are still to be delivered.
  int64_t bytes_left(uint32_t id) const {
    const Flight& flight = flights_[id];
    return flight.collective < 0 ? flight.bytes : collectives_[flight.collective].bytes_left;
  }
  /// The step of its collective that the flight is of (`Plan::step`); of a single message its number.
  Picoseconds step(uint32_t id) const {
    const Flight& flight = flights_[id];
    return flight.collective < 0 ? flight.message : plan(flight.collective).step(flight.message);
  }
  /// What the flight follows others on from where it is: messages of a collective by their path (by the place of its
  /// links in memory), single ones by their stream, the number of their path, the hops behind them and the next link.
  Connection connection(uint32_t id) const {
    const Flight& flight = flights_[id];
    if (flight.collective >= 0) {
      return {flight.collective, 0, reinterpret_cast<uintptr_t>(flight.hop) / sizeof(int32_t)};
    }
    const Job::Messages& messages = job_.messages;
    const topology::Paths& paths = messages.paths;
    const int64_t place = flight.hop - paths.links.data(), first = paths.first(flight.message);
    int64_t path = first;
    while (paths.link_offset[path + 1] <= place) path++;
    const auto hops = static_cast<uint64_t>(place - paths.link_offset[path]);
    return {-1 - messages.stream[flight.message], static_cast<int32_t>(path - first), hops << 32 | *flight.hop};
  }
  /// A link had `busy` of work on the flight between two times.
  /// Within the horizon, or refused: `LinkBins` indexes with it.
  void occupied(int32_t link, Picoseconds start, Picoseconds finish, Picoseconds busy, uint32_t id) {
    outcome_.bins.add(link, start, within_horizon(finish), busy);
    if (!record_occupancy_) return;
    const Flight& flight = flights_[id];
    const int32_t message = flight.collective < 0 ? flight.message : plan(flight.collective).position(flight.message);
    outcome_.occupancy.push_back({link, flight.collective, message, start, finish});
  }
  void deliver(uint32_t id, Picoseconds now) {
    // A copy, for what arrives may take off more flights and move them.
    const Flight flight = flights_[id];
    if (flight.collective >= 0 && !flight.forks) collectives_[flight.collective].bytes_left -= flight.bytes;
    if (!flights_.land(*this, network_, id, flight, now)) return;
    if (flight.collective < 0) {
      arrive(flight.message, now);
    } else {
      arrive(flight, now);
    }
  }

 private:
  static constexpr bool kInPackets = std::is_same_v<Network, PacketNetwork>;

  static Network network_of(const topology::Graph& graph, const Fidelity& fidelity) {
    if constexpr (kInPackets) {
      return Network(graph, fidelity.links, fidelity.packets, fidelity.link_bins);
    } else {
      return Network(graph, fidelity.links);
    }
  }

  // Kinds of events from the top down; the network's count from 0 up.
  static constexpr uint32_t kComputeEvent = ~uint32_t{0}, kNodeEvent = kComputeEvent - 1;  // others: NetworkEvent

  const Plan& plan(int64_t collective) const { return *plans_[job_.plan_of[collective]]; }

  /// The node's dependencies are done.
  void start(int32_t node, Picoseconds now) {
    outcome_.start_ps[node] = now;
    computations_.count(node, 1);
    const int64_t operand = job_.operand[node];
    switch (job_.kind[node]) {
      case NodeKind::kNothing:
        finish(node, now);
        break;
      case NodeKind::kCompute:
        computations_.add(node);
        break;
      case NodeKind::kCollective:
        join(static_cast<int32_t>(operand), node, now);
        break;
      case NodeKind::kSend:
        launches_.push_back(
            {-job_.messages.priority[operand], -1, static_cast<int32_t>(operand), static_cast<int32_t>(operand), node});
        break;
      // Its message may have come before anyone asked for it (eager sends: nothing waits for a receiver).
      case NodeKind::kReceive:
        if (arrived_[operand]) finish(node, now);
        break;
      case NodeKind::kMemory:
        accesses_.push_back(node);
        break;
      case NodeKind::kDelay:
        queue_.push({within_horizon(add_ps(now, operand)), kNodeEvent, static_cast<uint32_t>(node)});
        break;
    }
  }

  void finish(int32_t node, Picoseconds now) {
    outcome_.finish_ps[node] = now;
    finished_.push_back(node);
    computations_.count(node, -1);
  }

  /// Ends an instant: starts what the nodes that finished have set free, lets idle ranks pick their next computation,
  /// sends what has become ready, in the order of the schedules, and queues memory accesses, in the order of the nodes.
  void settle(Picoseconds now) {
    // By index: a node that takes no time finishes while this runs and is appended.
    for (size_t at = 0; at < finished_.size(); at++) {
      for (const int32_t node : job_.dependents_of(finished_[at])) {
        if (--waits_[node] == 0) start(node, now);
      }
    }
    finished_.clear();
    computations_.settle(now, outcome_.start_ps, [this](Picoseconds time, int32_t rank) {
      queue_.push({time, kComputeEvent, static_cast<uint32_t>(rank)});
    });
    sort_runs(launches_);
    for (const Launch& launch : launches_) take_off(launch, now);
    launches_.clear();
    // The model may find more events of this very instant; then the loop of `run` comes round again before time goes
    // on.
    network_.settle(*this, now);
    std::sort(accesses_.begin(), accesses_.end());
    for (const int32_t node : accesses_) access_memory(node, now);
    accesses_.clear();
  }

  // First come, first served needs no queue: the memory's next free time says it all.
  void access_memory(int32_t node, Picoseconds now) {
    const Job::Accesses& accesses = job_.accesses;
    const int64_t access = job_.operand[node];
    Picoseconds& free_at = memory_free_at_[accesses.memory[access]];
    free_at = within_horizon(add_ps(std::max(now, free_at), accesses.service_ps[access]));
    const Picoseconds done = within_horizon(add_ps(free_at, accesses.latency_ps[access]));
    queue_.push({done, kNodeEvent, static_cast<uint32_t>(node)});
  }

  /// A rank reaches a collective: the first messages of its routes wait for one end less.
  void join(int32_t id, int32_t node, Picoseconds now) {
    const Plan& plan = this->plan(id);
    Collective& collective = collectives_[id];
    if (collective.node.empty()) {
      collective.message_waits = plan.message_waits();
      collective.gate_counts = plan.gate_counts();
      collective.left = plan.messages_of_member();
      collective.node.assign(plan.num_members(), -1);
      collective.members_left = plan.num_members();
      collective.bytes_left = plan.total_bytes();
      // Switches that compute, and ranks outside the group, take part as one member that is there from the first on.
      if (plan.uses_relays()) {
        collective.members_left++;
        open_routes(id, plan.num_members(), node);
      }
    }
    const int32_t member = job_.member[node];
    collective.node[member] = node;
    if (collective.left[member] == 0) return leave(collective, member, node, now);
    open_routes(id, member, node);
  }

  void open_routes(int32_t id, int32_t member, int32_t cause) {
    const Plan& plan = this->plan(id);
    for (const int32_t route : plan.routes_at(member)) {
      const int32_t message = plan.first_message(route);
      if (--collectives_[id].message_waits[message] == 0) launch(id, message, cause);
    }
  }

  /// A member's part in a collective, or that of the switches, is done.
  void leave(Collective& collective, int32_t member, int32_t cause, Picoseconds now) {
    if (member < std::ssize(collective.node)) {
      const int32_t node = collective.node[member];
      // A member that itself set off what ended its part waited for nobody.
      if (outcome_.start_ps[cause] != outcome_.start_ps[node]) outcome_.cause[node] = cause;
      finish(node, now);
    }
    if (--collective.members_left == 0) collective = {};
  }

  /// Has a message of a collective sent at the end of this instant, and those behind it on its route that waited for
  /// nothing else.
  void launch(int32_t id, int32_t message, int32_t cause) {
    const Plan& plan = this->plan(id);
    std::vector<uint8_t>& waits = collectives_[id].message_waits;
    for (;; message = plan.next_on_route(message)) {
      launches_.push_back({-job_.priority_of[id], id, plan.position(message), message, cause});
      if (plan.last_on_route(message) || --waits[plan.next_on_route(message)] != 0) return;
    }
  }

  /// Sends a message that leaves now.
  void take_off(const Launch& launch, Picoseconds now) {
    const bool alone = launch.collective < 0;
    const Plan* plan = alone ? nullptr : &this->plan(launch.collective);
    const topology::Paths& paths = alone ? job_.messages.paths : plan->paths();
    const int64_t pair = alone ? launch.message : plan->route_of(launch.message);
    const int64_t bytes = alone ? job_.messages.bytes[launch.message] : plan->bytes_of(launch.message);
    const Flight whole{nullptr, nullptr, bytes, now, launch.collective, launch.message, launch.cause, -launch.urgency};
    flights_.send(*this, network_, whole, paths, pair, now);
  }

  /// A message of a collective is there.
  /// Gates form chains (`Plan::next_gate`): one that opens counts for the next, and the first that stays closed ends
  /// the walk.
  void arrive(const Flight& flight, Picoseconds now) {
    const int32_t id = flight.collective, message = flight.message;
    const Plan& plan = this->plan(id);
    Collective& collective = collectives_[id];
    for (const int32_t fed : plan.feeds(message)) {
      for (int32_t gate = fed; gate >= 0; gate = plan.next_gate(gate)) {
        if (!plan.opens(gate, collective.gate_counts)) break;
        for (const int32_t next : plan.waiting(gate)) {
          if (!plan.all_open(next, collective.gate_counts)) continue;
          if (--collective.message_waits[next] == 0) launch(id, next, flight.cause);
        }
      }
    }
    const int32_t src = plan.src(plan.route_of(message)), dst = plan.dst(plan.route_of(message));
    // The sender's part is done when its last message has arrived, as its buffer is in use until then.
    if (--collective.left[src] == 0) leave(collective, src, flight.cause, now);
    if (--collective.left[dst] == 0) leave(collective, dst, flight.cause, now);
  }

  /// A single message is there.
  void arrive(int32_t message, Picoseconds now) {
    arrived_[message] = true;
    finish(job_.sender[message], now);
    const int32_t receiver = job_.receiver[message];
    if (receiver < 0 || outcome_.start_ps[receiver] < 0) return;
    outcome_.cause[receiver] = job_.sender[message];
    finish(receiver, now);
  }

  const Job& job_;
  const std::vector<const Plan*>& plans_;
  Network network_;
  const bool record_occupancy_;
  Flights flights_;
  Computations computations_;
  EventQueue queue_;
  std::vector<uint32_t> waits_;    // dependencies of each node that are not done
  std::vector<int32_t> finished_;  // nodes that `settle` has to look at
  std::vector<Launch> launches_;   // messages that it sends
  std::vector<int32_t> accesses_;  // nodes whose memory accesses it queues
  std::vector<Picoseconds> memory_free_at_;
  std::vector<bool> arrived_;  // of each single message
  std::vector<Collective> collectives_;
  Outcome outcome_;
};

}  // namespace

}  // namespace hocket::simulator
