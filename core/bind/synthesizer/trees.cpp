#include "hocket/synthesizer/trees/trees.hpp"

#include <limits>

#include "hocket/columns.hpp"
#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/trees/improvement.hpp"
#include "synthesizer.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Growth;
using synthesizer::Lanes;
using synthesizer::Legs;
using synthesizer::Network;
using synthesizer::ReducingTransfers;
using synthesizer::Stop;
using synthesizer::TimedLegs;
using synthesizer::Trees;

constexpr int64_t kMostPasses = 1 << 20, kMostDepthPercent = 1 << 20;

nb::tuple trees(const Network& network, In<int32_t> images, In<int32_t> root, bool sums, In<int64_t> chunk_bytes,
                int depth_percent, int growth_passes, int pace_percent, int schedule_passes, uint64_t seed,
                int64_t target_ps, const Stop& stop) {
  ReducingTransfers found = unlocked([&] {
    if (network.num_ranks < 2) throw ScheduleError("trees need at least 2 ranks");
    check_ids(view(root), network.num_ranks, "the roots of chunks");
    check_within(static_cast<int64_t>(root.size()), 1, std::numeric_limits<int32_t>::max(), "the chunks");
    check_within(view(chunk_bytes), 0, network.chunk_bytes, "the bytes of chunks");
    for (const int64_t count : {growth_passes, schedule_passes}) check_within(count, 1, kMostPasses, "the passes");
    check_within(depth_percent, 0, kMostDepthPercent, "the weight of depth");
    check_within(pace_percent, 0, 100, "the pace");
    const Lanes lanes(network, view(images));
    check_size(chunk_bytes.size(), root.size() * lanes.order(), "the bytes of chunks");
    Trees trees(network.num_ranks, copy(root), sums);
    const Growth growth{.passes = growth_passes, .depth_percent = depth_percent};
    const Picoseconds load = synthesizer::pack(network, lanes, growth, seed, stop, trees);
    const Picoseconds interval = load / (int64_t{100} * trees.num_chunks()) * pace_percent;
    const Picoseconds target = std::max(load, target_ps);
    const Legs legs(network, trees);
    const TimedLegs timed = synthesizer::best_schedule(lanes, legs, interval, schedule_passes, target, stop);
    return synthesizer::transfers(network, lanes, legs, timed, view(chunk_bytes));
  });
  return nb::make_tuple(columns(std::move(found.transfers)), give(std::move(found.reduce)));
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("trees", &trees, "network"_a, "images"_a, "root"_a, "sums"_a, "chunk_bytes"_a, "depth_percent"_a,
        "growth_passes"_a, "pace_percent"_a, "schedule_passes"_a, "seed"_a, "target_ps"_a, "stop"_a);
}

}  // namespace hocket::bind
