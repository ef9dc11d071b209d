#include "hocket/synthesizer/packing/packing.hpp"

#include <limits>

#include "hocket/columns.hpp"
#include "hocket/synthesizer/packing/slot_times.hpp"
#include "hocket/synthesizer/trees/improvement.hpp"
#include "hocket/synthesizer/trees/trees.hpp"
#include "synthesizer.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Lanes;
using synthesizer::Legs;
using synthesizer::Network;
using synthesizer::Packing;
using synthesizer::Period;
using synthesizer::SlotTimes;
using synthesizer::Stop;
using synthesizer::TimedLegs;
using synthesizer::Trees;
using topology::Graph;

constexpr int64_t kMostPasses = 1 << 20;

nb::tuple packing_period(const Graph& graph, In<int32_t> root, int64_t chunk_bytes, bool blocking, const Stop& stop) {
  Period period = unlocked([&] {
    check_within(chunk_bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of a chunk");
    const SlotTimes times(graph, chunk_bytes, blocking);
    const std::vector<int64_t> nothing(times.held.size());
    return synthesizer::packing_period(graph, {times.held, nothing}, view(root), stop);
  });
  return nb::make_tuple(period.time, give(std::move(period.cut)));
}

nb::tuple pack_spanning_trees(const Graph& graph, In<int32_t> root, int64_t chunk_bytes, bool blocking, int64_t grain,
                              const Stop& stop) {
  Packing packing = unlocked([&] {
    check_within(chunk_bytes, 0, std::numeric_limits<int64_t>::max(), "the bytes of a chunk");
    const SlotTimes times(graph, chunk_bytes, blocking);
    const std::vector<int64_t> nothing(times.held.size());
    return synthesizer::pack_spanning_trees(graph, {times.held, nothing}, view(root), grain, stop);
  });
  return nb::make_tuple(give(std::move(packing.route_offset)), give(std::move(packing.route_links)),
                        give(std::move(packing.down)));
}

nb::tuple schedule_trees(const Network& network, In<int32_t> root, In<int32_t> down, int64_t interval_ps,
                         int schedule_passes, int64_t target_ps, const Stop& stop) {
  auto found = unlocked([&] {
    check_ids(view(root), network.num_ranks, "the roots of chunks");
    check_size(down.size(), root.size() * network.num_ranks, "the routes of the trees");
    check_within(schedule_passes, 1, kMostPasses, "the passes");
    Trees trees(network.num_ranks, copy(root), false);
    trees.down = copy(down);
    const Lanes lanes = Lanes::alone(network);
    const Legs legs(network, trees);
    const TimedLegs timed = synthesizer::best_schedule(lanes, legs, interval_ps, schedule_passes, target_ps, stop);
    return synthesizer::transfers(network, lanes, legs, timed, std::vector(root.size(), network.chunk_bytes));
  });
  return columns(std::move(found.transfers));
}

}  // namespace

void bind_packing(nb::module_& m) {
  m.def("packing_period", &packing_period, "graph"_a, "root"_a, "chunk_bytes"_a, "blocking"_a, "stop"_a);
  m.def("pack_spanning_trees", &pack_spanning_trees, "graph"_a, "root"_a, "chunk_bytes"_a, "blocking"_a, "grain"_a,
        "stop"_a);
  m.def("schedule_trees", &schedule_trees, "network"_a, "root"_a, "down"_a, "interval_ps"_a, "schedule_passes"_a,
        "target_ps"_a, "stop"_a);
}

}  // namespace hocket::bind
