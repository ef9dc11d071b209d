#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <limits>
#include <tuple>
#include <utility>

#include "bind.hpp"
#include "hocket/error.hpp"
#include "hocket/simulator/critical_path.hpp"
#include "hocket/simulator/job.hpp"
#include "hocket/simulator/plan.hpp"
#include "hocket/simulator/program_time.hpp"
#include "hocket/simulator/replay.hpp"
#include "hocket/simulator/slack.hpp"
#include "hocket/topology/graph.hpp"
#include "packets.hpp"
#include "paths.hpp"
#include "transfers.hpp"

namespace hocket::bind {
namespace {

using namespace simulator;
using topology::Graph;

Plan::Message message_of(bool by_step) { return by_step ? Plan::Message::kStep : Plan::Message::kTransfer; }

void init_plan(Plan* self, const OwnedTransfers& transfers, In<int64_t> bytes, In<int32_t> members, In<int32_t> relays,
               const Columns& paths, bool by_step) {
  nb::gil_scoped_release release;
  new (self) Plan(transfers, view(bytes), view(members), view(relays), paths_of(paths), message_of(by_step));
}

void init_pattern_plan(Plan* self, In<int32_t> connection, In<int32_t> sends, In<int32_t> delivers, In<bool> reduce,
                       In<bool> own, In<int64_t> step, In<int64_t> bytes, int32_t copies, const Columns& paths,
                       In<int32_t> route_dst, bool by_step) {
  nb::gil_scoped_release release;
  new (self) Plan({view(connection), view(sends), view(delivers), view(reduce), view(step), view(own)}, view(bytes),
                  copies, {paths_of(paths), view(route_dst)}, message_of(by_step));
}

void init_job(Job* self, const Graph& graph, In<int64_t> rank_offset, In<uint8_t> kind, In<int64_t> operand,
              In<int32_t> member, In<int64_t> dependency_offset, In<int64_t> dependency, const Columns& message_paths,
              In<int64_t> message_bytes, In<int32_t> message_priority, In<int32_t> message_stream,
              In<int32_t> access_memory, In<int64_t> access_service_ps, In<int64_t> access_latency_ps,
              In<int32_t> plan_of, In<int32_t> priority_of, In<int32_t> plan_members) {
  new (self) Job(
      graph, {view(rank_offset), view(kind), view(operand), view(member), view(dependency_offset), view(dependency)},
      {paths_of(message_paths), copy(message_bytes), copy(message_priority), copy(message_stream)},
      {copy(access_memory), copy(access_service_ps), copy(access_latency_ps)}, copy(plan_of), copy(priority_of),
      copy(plan_members));
}

/// The settings of links as Python gives them: a byte a link.
LinkSettings link_settings(const Graph& graph, In<uint8_t> stores, In<uint8_t> queueing) {
  const size_t num_links = graph.links().size();
  if (stores.size() != num_links || queueing.size() != num_links) {
    throw SimulationError("expected one setting a link");
  }
  LinkSettings settings{copy(stores), {}};
  for (const uint8_t code : view(queueing)) {
    if (code > static_cast<uint8_t>(Queueing::kSmallestRemaining)) throw SimulationError("unknown queueing discipline");
    settings.queueing.push_back(static_cast<Queueing>(code));
  }
  return settings;
}

// A fraction and no float, so that paces are exact and results the same on any machine.
Slowdown slowdown_of(const std::pair<int64_t, int64_t>& fraction) {
  const auto [numerator, denominator] = fraction;
  if (denominator <= 0 || numerator < denominator || numerator > std::numeric_limits<int32_t>::max()) {
    throw SimulationError("a slowdown is a fraction of at least 1, of integers below 2^31");
  }
  return {numerator, denominator};
}

// Everything is checked before the lock is given up; from there to the end no object of Python is touched.
nb::dict replay_job(const Job& job, const std::vector<const Plan*>& plans, const Graph& graph, const std::string& model,
                    In<uint8_t> stores, In<uint8_t> queueing, std::pair<int64_t, int64_t> slowdown,
                    bool record_occupancy, int32_t link_bins, bool adaptive, const PacketSettings* packets) {
  const bool in_packets = model == "packet";
  if (in_packets && packets == nullptr) throw SimulationError("model packet: its settings are missing");
  const Fidelity fidelity{
      link_settings(graph, stores, queueing),  slowdown_of(slowdown), record_occupancy, link_bins, adaptive,
      in_packets ? *packets : PacketSettings{}};
  Outcome outcome;
  {
    nb::gil_scoped_release release;
    outcome = replay(job, plans, graph, model, fidelity);
  }
  nb::dict result;
  result["start_ps"] = give(std::move(outcome.start_ps));
  result["finish_ps"] = give(std::move(outcome.finish_ps));
  result["cause"] = give(std::move(outcome.cause));
  result["slowed_ps"] = give(std::move(outcome.slowed_ps));
  result["link_busy_ps"] = column(outcome.links, &LinkUse::busy_ps);
  result["link_bytes"] = column(outcome.links, &LinkUse::bytes);
  result["link_messages"] = column(outcome.links, &LinkUse::messages);
  result["occupancy_link"] = column(outcome.occupancy, &Occupancy::link);
  result["occupancy_collective"] = column(outcome.occupancy, &Occupancy::collective);
  result["occupancy_message"] = column(outcome.occupancy, &Occupancy::message);
  result["occupancy_start_ps"] = column(outcome.occupancy, &Occupancy::start_ps);
  result["occupancy_finish_ps"] = column(outcome.occupancy, &Occupancy::finish_ps);
  result["bin_ps"] = outcome.bins.width_ps();
  result["bin_busy_ps"] = give(std::vector<Picoseconds>(outcome.bins.busy_ps()));
  result["events"] = outcome.events;
  if (in_packets) result["packets"] = packet_use(std::move(outcome.packets));
  return result;
}

Picoseconds time_program(In<uint8_t> kind, In<int32_t> message, In<int32_t> starts, In<int64_t> before,
                         In<int64_t> after, In<int64_t> lag, In<int32_t> latency, In<int32_t> row,
                         In<int32_t> connection, In<int64_t> bytes, In<int64_t> busy_ps, In<int64_t> latency_ps,
                         Picoseconds launch_ps, const Columns& paths, const Graph& graph, In<uint8_t> stores,
                         In<uint8_t> queueing, int64_t alike) {
  const PassNodes nodes{view(kind), view(message), view(starts), view(before), view(after), view(lag), view(latency)};
  const PassMessages messages{view(row), view(connection), view(bytes), view(busy_ps), view(latency_ps)};
  LinkSettings settings = link_settings(graph, stores, queueing);
  settings.alike = alike;
  const topology::Paths columns = paths_of(paths);
  return unlocked([&] { return program_time(nodes, messages, launch_ps, columns, graph, settings); });
}

nb::tuple bound_job(const Job& job, const Graph& graph, In<int64_t> offset, In<int64_t> own_ps, In<int64_t> hear_ps,
                    In<int32_t> source) {
  CollectiveBounds bounds(offset.size() - 1);
  for (size_t plan = 0; plan < bounds.size(); plan++) {
    for (int64_t k = offset.data()[plan]; k < offset.data()[plan + 1]; k++) {
      bounds[plan].push_back({own_ps.data()[k], hear_ps.data()[k], source.data()[k]});
    }
  }
  NodeTimes times;
  {
    nb::gil_scoped_release release;
    times = critical_path(job, bounds, graph);
  }
  return nb::make_tuple(give(std::move(times.start_ps)), give(std::move(times.finish_ps)));
}

nb::ndarray<nb::numpy, Picoseconds, nb::ndim<1>> slack_of(In<int64_t> rank_offset, In<uint8_t> kind,
                                                          In<int64_t> operand, In<int64_t> dependency_offset,
                                                          In<int64_t> dependency, In<int64_t> start_ps,
                                                          In<int64_t> finish_ps, In<int32_t> cause) {
  const Replayed job{view(rank_offset), view(kind),     view(operand),   view(dependency_offset),
                     view(dependency),  view(start_ps), view(finish_ps), view(cause)};
  return give(unlocked([&] { return slack(job); }));
}

}  // namespace

void bind_simulator(nb::module_& m) {
  nb::class_<Plan>(m, "Plan")
      .def("__init__", &init_plan, "transfers"_a, "bytes"_a, "members"_a, "relays"_a, "paths"_a, "by_step"_a)
      .def("__init__", &init_pattern_plan, "connection"_a, "sends"_a, "delivers"_a, "reduce"_a, "own"_a, "step"_a,
           "bytes"_a, "copies"_a, "paths"_a, "route_dst"_a, "by_step"_a)
      .def_prop_ro("num_messages", &Plan::num_messages);
  nb::class_<Job>(m, "Job").def("__init__", &init_job, "graph"_a, "rank_offset"_a, "kind"_a, "operand"_a, "member"_a,
                                "dependency_offset"_a, "dependency"_a, "message_paths"_a, "message_bytes"_a,
                                "message_priority"_a, "message_stream"_a, "access_memory"_a, "access_service_ps"_a,
                                "access_latency_ps"_a, "plan_of"_a, "priority_of"_a, "plan_members"_a);
  m.def("replay", &replay_job, "job"_a, "plans"_a, "graph"_a, "model"_a, "stores"_a, "queueing"_a, "slowdown"_a,
        "record_occupancy"_a, "link_bins"_a, "adaptive"_a, "packets"_a.none());
  bind_packets(m);
  bind_traffic(m);
  m.def("program_time", &time_program, "kind"_a, "message"_a, "starts"_a, "before"_a, "after"_a, "lag"_a, "latency"_a,
        "row"_a, "connection"_a, "bytes"_a, "busy_ps"_a, "latency_ps"_a, "launch_ps"_a, "paths"_a, "graph"_a,
        "stores"_a, "queueing"_a, "alike"_a);
  m.def("critical_path", &bound_job, "job"_a, "graph"_a, "bound_offset"_a, "own_ps"_a, "hear_ps"_a, "source"_a);
  m.def("slack", &slack_of, "rank_offset"_a, "kind"_a, "operand"_a, "dependency_offset"_a, "dependency"_a, "start_ps"_a,
        "finish_ps"_a, "cause"_a);
}

}  // namespace hocket::bind
