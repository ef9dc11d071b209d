#include "hocket/schedule/bounds/bounds.hpp"

#include <limits>

#include "bind.hpp"
#include "hocket/columns.hpp"
#include "hocket/schedule/bounds/flow.hpp"
#include "hocket/schedule/bounds/path.hpp"
#include "hocket/synthesizer/packing/packing.hpp"
#include "hocket/synthesizer/packing/slot_times.hpp"

namespace hocket::bind {
namespace {

using schedule::Holding;
using topology::Graph;

int64_t least_time(const Graph& graph, In<int32_t> links, int64_t chunks, int64_t smallest_bytes, int64_t total_bytes,
                   Holding holding) {
  return schedule::least_time(graph, view(links), {chunks, smallest_bytes, total_bytes}, holding);
}

auto least_times(const Graph& graph, In<int64_t> offset, In<int32_t> links, In<int32_t> sets, In<int64_t> chunks,
                 In<int64_t> total_bytes, int64_t smallest_bytes, Holding holding) {
  return give(unlocked([&] {
    return schedule::least_times(graph, view(offset), view(links), view(sets), view(chunks), view(total_bytes),
                                 smallest_bytes, holding);
  }));
}

int64_t flow_bound(const Graph& graph, In<int32_t> rank, In<int64_t> chunks, In<int64_t> bytes, int64_t smallest_bytes,
                   int32_t sink, Holding holding, int64_t least_ps) {
  const schedule::Supply supply{view(rank), view(chunks), view(bytes), smallest_bytes};
  return unlocked([&] { return schedule::flow_bound(graph, supply, sink, holding, least_ps); });
}

int64_t path_bound(const Graph& graph, In<int32_t> src, In<int32_t> dst, In<int64_t> bytes, int64_t largest_chunk,
                   bool alike, Holding holding, In<int64_t> prices, int64_t least_ps) {
  const schedule::Traffic traffic{view(src), view(dst), view(bytes), largest_chunk, alike};
  return unlocked([&] { return schedule::path_bound(graph, traffic, holding, view(prices), least_ps); });
}

auto path_prices(const Graph& graph, In<int32_t> src, In<int32_t> dst, In<int64_t> bytes, int64_t largest_chunk,
                 bool alike, Holding holding, int rounds, int64_t least_ps) {
  const schedule::Traffic traffic{view(src), view(dst), view(bytes), largest_chunk, alike};
  return give(unlocked([&] { return schedule::path_prices(graph, traffic, holding, rounds, least_ps); }));
}

auto least_holds(const Graph& graph, int64_t largest_chunk, bool alike, Holding holding) {
  return give(unlocked([&] { return schedule::least_holds(graph, largest_chunk, alike, holding); }));
}

// The packing engine's period is the bound: it is a proof for every schedule, with the latency of the last slot.
nb::tuple cut_bound(const Graph& graph, In<int32_t> root, int64_t chunk_bytes, bool blocking) {
  synthesizer::Period period = unlocked([&] {
    check_within(chunk_bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of a chunk");
    const synthesizer::SlotTimes times(graph, chunk_bytes, blocking);
    return synthesizer::packing_period(graph, {times.held, times.beyond}, view(root), synthesizer::Stop());
  });
  return nb::make_tuple(period.time, give(std::move(period.cut)));
}

}  // namespace

void bind_bounds(nb::module_& m) {
  m.attr("HORIZON_PS") = kHorizon;
  nb::enum_<Holding>(m, "Holding")
      .value("SHARED", Holding::kShared)
      .value("WIRE", Holding::kWire)
      .value("BLOCKING", Holding::kBlocking);
  m.def("least_time", &least_time, "graph"_a, "links"_a, "chunks"_a, "smallest_bytes"_a, "total_bytes"_a, "holding"_a);
  m.def("least_times", &least_times, "graph"_a, "offset"_a, "links"_a, "sets"_a, "chunks"_a, "total_bytes"_a,
        "smallest_bytes"_a, "holding"_a);
  m.def("flow_bound", &flow_bound, "graph"_a, "rank"_a, "chunks"_a, "bytes"_a, "smallest_bytes"_a, "sink"_a,
        "holding"_a, "least_ps"_a);
  m.def("cut_bound", &cut_bound, "graph"_a, "root"_a, "chunk_bytes"_a, "blocking"_a);
  m.def("path_bound", &path_bound, "graph"_a, "src"_a, "dst"_a, "bytes"_a, "largest_chunk"_a, "alike"_a, "holding"_a,
        "prices"_a, "least_ps"_a);
  m.def("path_prices", &path_prices, "graph"_a, "src"_a, "dst"_a, "bytes"_a, "largest_chunk"_a, "alike"_a, "holding"_a,
        "rounds"_a, "least_ps"_a);
  m.def("least_holds", &least_holds, "graph"_a, "largest_chunk"_a, "alike"_a, "holding"_a);
}

}  // namespace hocket::bind
