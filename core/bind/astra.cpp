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
  new (self) HeldProgram{{rank_offset, action, resource, kind, duration_ns, bytes, tag, priority, num_ops, tensor_bytes,
                          peer, group, custom, dimensions, dependency_offset, dependency},
                         Program(columns)};
}

using DimensionTuple = std::tuple<int, int32_t, double, double>;  // shape, size, bytes/ns, latency in ns
using ImplementationTuple = std::tuple<int, int32_t, bool>;       // algorithm, window, flat
using MemoryTuple = std::tuple<int, int64_t, double, int32_t>;    // kind, latency, bytes/ns, ranks per node
using GroupTuple = std::pair<std::vector<int32_t>, int64_t>;      // ranks, first stream

nb::dict run(const std::vector<DimensionTuple>& dimension_tuples, const MemoryTuple& memory_tuple,
             const std::vector<GroupTuple>& group_tuples, const HeldProgram& workload,
             const std::vector<const HeldProgram*>& customs,
             const std::vector<std::vector<ImplementationTuple>>& implementations, int policy, bool shrinking,
             bool congestion, bool rendezvous, int64_t splits, int32_t active_chunks, int32_t queues_per_dimension,
             int64_t endpoint_delay, double local_memory_bandwidth, double peak_performance) {
  std::vector<Dimension> dimensions;
  for (const auto& [shape, size, bytes_per_ns, latency] : dimension_tuples) {
    dimensions.push_back({static_cast<Shape>(shape), size, bytes_per_ns, latency});
  }
  std::vector<Group> groups;
  for (const auto& [ranks, first_stream] : group_tuples) groups.push_back({ranks, first_stream});
  std::vector<Program> custom;
  for (const HeldProgram* held : customs) custom.push_back(held->program);
  System system{static_cast<Policy>(policy),
                shrinking,
                congestion,
                rendezvous,
                splits,
                active_chunks,
                queues_per_dimension,
                endpoint_delay,
                local_memory_bandwidth,
                peak_performance,
                {}};
  for (size_t kind = 0; kind < implementations.size(); kind++) {
    for (const auto& [algorithm, window, flat] : implementations[kind]) {
      system.implementations.at(kind).push_back({static_cast<Algorithm>(algorithm), window, flat});
    }
  }
  const auto& [memory_kind, memory_latency, memory_bytes_per_ns, ranks_per_node] = memory_tuple;
  const RemoteMemory memory{static_cast<MemoryKind>(memory_kind), memory_latency, memory_bytes_per_ns, ranks_per_node};
  Outcome outcome;
  {
    nb::gil_scoped_release unlocked;
    outcome = simulate(dimensions, system, memory, groups, workload.program, custom);
  }
  nb::dict result;
  result["finish_ns"] = give(std::move(outcome.finish_ns));
  result["compute_ns"] = give(std::move(outcome.compute_ns));
  result["progress"] = give(std::move(outcome.progress));
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

}  // namespace

void bind_astra(nb::module_& m) {
  nb::class_<HeldProgram>(m, "Program")
      .def("__init__", &init_program, "rank_offset"_a, "action"_a, "resource"_a, "kind"_a, "duration_ns"_a, "bytes"_a,
           "tag"_a, "priority"_a, "num_ops"_a, "tensor_bytes"_a, "peer"_a, "group"_a, "custom"_a, "dimensions"_a,
           "dependency_offset"_a, "dependency"_a);
  m.def("simulate", &run, "dimensions"_a, "memory"_a, "groups"_a, "workload"_a, "custom"_a, "implementations"_a,
        "policy"_a, "shrinking"_a, "congestion"_a, "rendezvous"_a, "splits"_a, "active_chunks"_a,
        "queues_per_dimension"_a, "endpoint_delay"_a, "local_memory_bandwidth"_a, "peak_performance"_a);
}

}  // namespace hocket::bind
