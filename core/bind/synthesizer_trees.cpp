#include <limits>

#include "hocket/columns.hpp"
#include "hocket/synthesizer/stop.hpp"
#include "hocket/synthesizer/trees.hpp"
#include "hocket/synthesizer/trees_improvement.hpp"
#include "synthesizer.hpp"

namespace hocket::bind {
namespace {

using synthesizer::Growth;
using synthesizer::Network;
using synthesizer::ReducingTransfers;
using synthesizer::Stop;
using synthesizer::Trees;

constexpr int64_t kMostPasses = 1 << 20, kMostPercent = 1 << 20;

nb::tuple trees(const Network& network, In<int32_t> root, bool sums, int depth_percent, int growth_passes,
                int pace_percent, int schedule_passes, uint64_t seed, int64_t target_ps, const Stop& stop) {
  ReducingTransfers found = unlocked([&] {
    if (network.num_ranks < 2) throw ScheduleError("trees need at least 2 ranks");
    check_ids(view(root), network.num_ranks, "the roots of chunks");
    check_within(static_cast<int64_t>(root.size()), 1, std::numeric_limits<int32_t>::max(), "the chunks");
    for (const int64_t count : {growth_passes, schedule_passes}) check_within(count, 1, kMostPasses, "the passes");
    for (const int64_t percent : {depth_percent, pace_percent}) check_within(percent, 0, kMostPercent, "the percent");
    Trees trees(network.num_ranks, copy(root), sums);
    const Growth growth{.passes = growth_passes, .depth_percent = depth_percent};
    const Picoseconds load = synthesizer::pack(network, growth, seed, stop, trees);
    const Picoseconds interval = load / trees.num_chunks() * pace_percent / 100;
    const Picoseconds target = std::max(load, target_ps);
    return synthesizer::transfers(network, trees,
                                  synthesizer::best_schedule(network, trees, interval, schedule_passes, target, stop));
  });
  return nb::make_tuple(columns(std::move(found.transfers)), give(std::move(found.reduce)));
}

}  // namespace

void bind_trees(nb::module_& m) {
  m.def("trees", &trees, "network"_a, "root"_a, "sums"_a, "depth_percent"_a, "growth_passes"_a, "pace_percent"_a,
        "schedule_passes"_a, "seed"_a, "target_ps"_a, "stop"_a);
}

}  // namespace hocket::bind
