#include "hocket/synthesizer/packing/packing.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "../../src/synthesizer/packing/rooted_flows.hpp"
#include "hocket/error.hpp"
#include "hocket/synthesizer/packing/slot_times.hpp"

namespace hocket::synthesizer {
namespace {

using topology::Graph;
using topology::Link;

constexpr Bandwidth kBytePerNanosecond = 1'000'000'000;

void join(std::vector<Link>& links, int32_t a, int32_t b, Bandwidth bandwidth) {
  links.push_back({a, b, 1000, bandwidth});
  links.push_back({b, a, 1000, bandwidth});
}

/// Two switches (nodes 4, 5) of two ranks each, whose links are of 1 byte/ns; links 8 and 9 join the switches.
Graph two_switches(Bandwidth trunk = kBytePerNanosecond) {
  std::vector<Link> links;
  for (int32_t rank = 0; rank < 4; rank++) join(links, rank, 4 + rank / 2, kBytePerNanosecond);
  join(links, 4, 5, trunk);
  return Graph(4, 6, links);
}

struct Case {
  explicit Case(Graph of, std::vector<int32_t> roots) : graph(std::move(of)), root(std::move(roots)) {}
  Slots slots() const { return {times.held, nothing}; }

  Graph graph;
  std::vector<int32_t> root;
  SlotTimes times{graph, 1000, false};
  std::vector<Picoseconds> nothing = std::vector<Picoseconds>(graph.links().size());
};

TEST(RootedFlows, ShiftLeavesEverySinkItsFlow) {
  // 2 units from rank 0 reach both others: rank 1 directly, rank 2 directly or by way of rank 1.
  const Stop stop;
  RootedFlows flows(3, 3, stop);
  flows.add_arc(flows.source(), 0, 2);
  const int32_t to_1 = flows.add_arc(0, 1, 3), to_2 = flows.add_arc(0, 2, 2), across = flows.add_arc(1, 2, 1);
  for (int32_t sink = 0; sink < 3; sink++) EXPECT_EQ(flows.send(sink, 2), 2);
  EXPECT_EQ(flows.shift(to_2, RootedFlows::kNone, RootedFlows::kNone, 2), 1);  // the rest goes across
  EXPECT_EQ(flows.shift(across, RootedFlows::kNone, RootedFlows::kNone, 1), 0);
  EXPECT_EQ(flows.shift(to_1, RootedFlows::kNone, RootedFlows::kNone, 3), 1);
  EXPECT_EQ(flows.capacity(to_1), 2);
}

TEST(SlotTimes, AreThoseOfTheWidestAndQuickestRoutes) {
  // A trunk of 4 bytes/ns between ports of 1 byte/ns passes four at once; where transfers block it is held as long as
  // the ports are. Two hops of 1 ns lead to the other rank on a switch, three over the trunk.
  const Graph graph = two_switches(4 * kBytePerNanosecond);
  std::vector<Picoseconds> latency(graph.links().size(), 2000);
  for (size_t link = 8; link < latency.size(); link++) latency[link] = 3000;
  std::vector<Picoseconds> held(latency.size(), 1'000'000);
  held[8] = held[9] = 249'999;
  EXPECT_EQ(SlotTimes(graph, 1000, false).held, held);
  EXPECT_EQ(SlotTimes(graph, 1000, false).beyond, latency);
  const std::vector<Picoseconds> blocking = SlotTimes(graph, 1000, true).held;
  for (size_t link = 0; link < latency.size(); link++) EXPECT_EQ(blocking[link], 1'000'000 + latency[link]);
}

TEST(PackingPeriod, IsThatOfTheWorstCut) {
  // A chunk a rank: two of them cross the trunk, but three enter each rank.
  const Case even(two_switches(), {0, 1, 2, 3});
  EXPECT_EQ(packing_period(even.graph, even.slots(), even.root, Stop()).time, 3'000'000);
  // Five chunks on one side cross the trunk.
  const Case uneven(two_switches(), {0, 0, 0, 1, 1});
  const Period period = packing_period(uneven.graph, uneven.slots(), uneven.root, Stop());
  EXPECT_EQ(period.time, 5'000'000);
  EXPECT_EQ(period.cut, (std::vector<int32_t>{0, 1}));
}

TEST(PackSpanningTrees, UseNoLinkMoreOftenThanItHasSlots) {
  const Case even(two_switches(), {0, 1, 2, 3});
  for (const int64_t grain : {int64_t{1}, RootedFlows::kUnlimited}) {
    const Packing packing = pack_spanning_trees(even.graph, even.slots(), even.root, grain, Stop());
    std::vector<int64_t> used(even.graph.links().size(), 0);
    for (int32_t chunk = 0; chunk < 4; chunk++) {
      for (int32_t rank = 0; rank < 4; rank++) {
        const int32_t route = packing.down[chunk * 4 + rank];
        EXPECT_EQ(route < 0, rank == even.root[chunk]);
        if (route < 0) continue;
        for (int64_t at = packing.route_offset[route]; at < packing.route_offset[route + 1]; at++) {
          used[packing.route_links[at]]++;
        }
      }
    }
    for (const int64_t times : used) EXPECT_LE(times, 3);
  }
}

TEST(PackSpanningTrees, NamesWhatIsOutOfReach) {
  const Case one_way(Graph(2, 2, {{0, 1, 0, kBytePerNanosecond}}), {0, 1});
  EXPECT_THROW(packing_period(one_way.graph, one_way.slots(), one_way.root, Stop()), Infeasible);
}

}  // namespace
}  // namespace hocket::synthesizer
