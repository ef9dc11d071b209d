#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "bind.hpp"
#include "hocket/simulator/astra/simulate.hpp"

namespace hocket::bind {
namespace {

using namespace simulator::astra;

/// A program with the arrays that it looks at.
/// Columns are views of numpy's memory; the arrays keep that alive.
struct HeldProgram {
  std::tuple<In<int64_t>, In<uint8_t>, In<uint8_t>, In<uint8_t>, In<int64_t>, In<int64_t>, In<int64_t>, In<int64_t>,
             In<int64_t>, In<int64_t>, In<int32_t>, In<int32_t>, In<int32_t>, In<uint32_t>, In<int64_t>, In<int64_t>>
      arrays;
  Program program;
};

void init_program(HeldProgram* self, In<int64_t> rank_offset, In<uint8_t> action, In<uint8_t> resource,
                  In<uint8_t> kind, In<int64_t> duration_ns, In<int64_t> bytes, In<int64_t> tag, In<int64_t> priority,
                  In<int64_t> num_ops, In<int64_t> tensor_bytes, In<int32_t> peer, In<int32_t> group,
                  In<int32_t> custom, In<uint32_t> dimensions, In<int64_t> dependency_offset, In<int64_t> dependency) {
  const Columns columns{view(rank_offset), view(action), view(resource), view(kind),       view(duration_ns),
                        view(bytes),       view(tag),    view(priority), view(num_ops),    view(tensor_bytes),
                        view(peer),        view(group),  view(custom),   view(dimensions), view(dependency_offset),
                        view(dependency)};
  // Made in place: nanobind has the memory of the object and wants it filled.
  new (self) HeldProgram{{rank_offset, action, resource, kind, duration_ns, bytes, tag, priority, num_ops, tensor_bytes,
                          peer, group, custom, dimensions, dependency_offset, dependency},
                         Program(columns)};
}

using DimensionTuple = std::tuple<int, int32_t, double, double>;  // shape, size, bytes/ns, latency in ns
using ImplementationTuple = std::tuple<int, int32_t, bool>;       // algorithm, window, flat
using MemoryTuple = std::tuple<int, int64_t, double, int32_t>;    // kind, latency, bytes/ns, ranks per node
using GroupTuple = std::pair<std::vector<int32_t>, int64_t>;      // ranks, first stream

/// ASTRA-sim's files and options.
struct Setup {
  std::vector<Dimension> dimensions;
  RemoteMemory memory;
  System system;
};

void init_setup(Setup* self, const std::vector<DimensionTuple>& dimensions, const MemoryTuple& memory,
                const std::vector<std::vector<ImplementationTuple>>& implementations, int policy, bool shrinking,
                bool congestion, bool rendezvous, int64_t splits, int32_t active_chunks, int32_t queues_per_dimension,
                int64_t endpoint_delay, double local_memory_bandwidth, double peak_performance) {
  new (self) Setup{{},
                   {},
                   {static_cast<Policy>(policy),
                    shrinking,
                    congestion,
                    rendezvous,
                    splits,
                    active_chunks,
                    queues_per_dimension,
                    endpoint_delay,
                    local_memory_bandwidth,
                    peak_performance,
                    {}}};
  for (const auto& [shape, size, bytes_per_ns, latency] : dimensions) {
    self->dimensions.push_back({static_cast<Shape>(shape), size, bytes_per_ns, latency});
  }
  const auto& [memory_kind, latency, bytes_per_ns, ranks_per_node] = memory;
  self->memory = {static_cast<MemoryKind>(memory_kind), latency, bytes_per_ns, ranks_per_node};
  for (size_t kind = 0; kind < implementations.size(); kind++) {
    for (const auto& [algorithm, window, flat] : implementations[kind]) {
      self->system.implementations.at(kind).push_back({static_cast<Algorithm>(algorithm), window, flat});
    }
  }
}

nb::dict as_dict(Outcome&& outcome) {
  nb::dict result;
  result["finish_ns"] = give(std::move(outcome.finish_ns));
  result["compute_ns"] = give(std::move(outcome.compute_ns));
  result["progress"] = give(std::move(outcome.progress));
  result["first_stream"] = give(std::move(outcome.first_stream));
  result["crashed"] = give(std::move(outcome.crashed));
  nb::list waiting;
  for (const Waiting& one : outcome.waiting) waiting.append(nb::make_tuple(one.node, one.source, one.bytes));
  result["waiting"] = waiting;
  result["byte_hops"] = give(std::move(outcome.byte_hops));
  result["partly_charged"] = outcome.partly_charged;
  result["uncharged_ns"] = outcome.uncharged_ns;
  result["messages"] = outcome.messages;
  result["events"] = outcome.events;
  return result;
}

std::vector<Group> groups_of(const std::vector<GroupTuple>& tuples) {
  std::vector<Group> groups;
  for (const auto& [ranks, first_stream] : tuples) groups.push_back({ranks, first_stream});
  return groups;
}

std::optional<nb::dict> run_in_convoys(const Setup& setup, const std::vector<GroupTuple>& group_tuples,
                                       const HeldProgram& workload) {
  const std::vector<Group> groups = groups_of(group_tuples);
  std::optional<Outcome> outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = simulate_in_convoys(setup.dimensions, setup.system, setup.memory, groups, workload.program);
  }
  if (!outcome) return std::nullopt;
  return as_dict(std::move(*outcome));
}

nb::dict run(const Setup& setup, const std::vector<GroupTuple>& group_tuples, const HeldProgram& workload,
             const std::vector<const HeldProgram*>& customs) {
  const std::vector<Group> groups = groups_of(group_tuples);
  std::vector<Program> custom;
  for (const HeldProgram* held : customs) custom.push_back(held->program);
  Outcome outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = simulate(setup.dimensions, setup.system, setup.memory, groups, workload.program, custom);
  }
  return as_dict(std::move(outcome));
}

std::optional<nb::dict> run_alike(const Setup& setup, const HeldProgram& workload) {
  std::optional<Outcome> outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = simulate_alike(setup.dimensions, setup.system, setup.memory, workload.program);
  }
  if (!outcome) return std::nullopt;
  return as_dict(std::move(*outcome));
}

}  // namespace

void bind_astra(nb::module_& m) {
  nb::class_<HeldProgram>(m, "Program")
      .def("__init__", &init_program, "rank_offset"_a, "action"_a, "resource"_a, "kind"_a, "duration_ns"_a, "bytes"_a,
           "tag"_a, "priority"_a, "num_ops"_a, "tensor_bytes"_a, "peer"_a, "group"_a, "custom"_a, "dimensions"_a,
           "dependency_offset"_a, "dependency"_a);
  nb::class_<Setup>(m, "Setup")
      .def("__init__", &init_setup, "dimensions"_a, "memory"_a, "implementations"_a, "policy"_a, "shrinking"_a,
           "congestion"_a, "rendezvous"_a, "splits"_a, "active_chunks"_a, "queues_per_dimension"_a, "endpoint_delay"_a,
           "local_memory_bandwidth"_a, "peak_performance"_a);
  m.def("simulate", &run, "setup"_a, "groups"_a, "workload"_a, "custom"_a);
  m.def("simulate_alike", &run_alike, "setup"_a, "workload"_a);
  m.def("simulate_in_convoys", &run_in_convoys, "setup"_a, "groups"_a, "workload"_a);
}

}  // namespace hocket::bind
