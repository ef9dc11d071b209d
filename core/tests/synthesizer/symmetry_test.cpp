#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "hocket/synthesizer/symmetry/exchange.hpp"
#include "hocket/synthesizer/symmetry/spread.hpp"
#include "hocket/topology/routing.hpp"

namespace hocket::synthesizer {
namespace {

using topology::Graph;
using topology::Link;

constexpr int64_t kChunkBytes = 1000;  // 1000 bytes at 1 byte/ns: a microsecond
constexpr Picoseconds kLatency = 100'000, kSlot = 1'100'000;

Network network(int32_t ranks, int32_t nodes, const std::vector<Link>& links) {
  const Graph graph(ranks, nodes, links);
  const topology::Routes routes = topology::rank_routes(graph);
  return Network(graph, routes.offset, routes.links, kChunkBytes, true);
}

/// Links to the next rank around a circle, and to the one before.
std::vector<Link> ring(int32_t size) {
  std::vector<Link> links;
  for (int32_t rank = 0; rank < size; rank++) {
    links.push_back({rank, (rank + 1) % size, kLatency, 1'000'000'000});
    links.push_back({(rank + 1) % size, rank, kLatency, 1'000'000'000});
  }
  return links;
}

TEST(Translations, ARingHasTwoGenerators) {
  const Network links = network(5, 5, ring(5));
  const Translations ring5(links, std::vector<Side>{{5, true}});
  EXPECT_EQ(ring5.num_generators(), 2);
  EXPECT_EQ(ring5.num_resources, 2);
  EXPECT_TRUE(ring5.connected());
  EXPECT_EQ(links.dst[ring5.link_from(0, 3)], ring5.rank[ring5.target_from(0, 3)]);
}

TEST(Translations, ALinkWithoutAllItsImagesIsLeftOut) {
  std::vector<Link> links = ring(5);
  links.pop_back();
  const Network broken = network(5, 5, links);
  const Translations shifts(broken, std::vector<Side>{{5, true}});
  EXPECT_EQ(shifts.num_generators(), 1);
  EXPECT_TRUE(shifts.connected());  // the long way round
}

TEST(Translations, ShiftsThroughASwitchShareItsPorts) {
  std::vector<Link> links;
  for (int32_t rank = 0; rank < 4; rank++) {
    links.push_back({rank, 4, kLatency, 1'000'000'000});
    links.push_back({4, rank, kLatency, 1'000'000'000});
  }
  const Network star = network(4, 5, links);
  const Translations shifts(star, std::vector<Side>{{4, true}});
  EXPECT_EQ(shifts.num_generators(), 3);
  for (int32_t generator = 0; generator < 3; generator++) {
    EXPECT_TRUE(std::ranges::equal(shifts.resources[generator], shifts.resources[0]));
  }
}

TEST(Translations, RanksThatShiftsDoNotJoinAreOrbits) {
  // A ring of three, twice: only the first side turns.
  std::vector<Link> links;
  for (int32_t copy : {0, 3}) {
    for (const Link& link : ring(3)) links.push_back({copy + link.src, copy + link.dst, kLatency, 1'000'000'000});
  }
  const Network pair = network(6, 6, links);
  const Translations shifts(pair, std::vector<Side>{{3, true}, {2, false}});
  EXPECT_EQ(shifts.num_orbits, 2);
  EXPECT_EQ(shifts.num_generators(), 4);
  EXPECT_FALSE(shifts.connected());
}

TEST(SymmetricSpread, EachGeneratorBringsAChunkASlot) {
  const Network links = network(7, 7, ring(7));
  const Translations ring7(links, std::vector<Side>{{7, true}});
  const Stop stop;
  SymmetricSpread spread(links, ring7, 2, 1);
  const auto found = spread.next(stop);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->time, 6 * kSlot);  // 2 * 6 chunks, 2 links
  for (int more = 0; more < 20; more++) EXPECT_FALSE(spread.next(stop));
  const Transfers all = translate_spread(ring7, 2, *found, 7);
  EXPECT_EQ(all.chunk.size(), size_t{7 * 2 * 6});
  EXPECT_TRUE(std::ranges::is_sorted(all.start));
}

TEST(SymmetricGrowth, AVariationRepeatsWhatItKeeps) {
  const Network links = network(7, 7, ring(7));
  const Translations ring7(links, std::vector<Side>{{7, true}});
  const GrowthPlan plan(links, ring7, 3);
  const Growth growth{.order = Growth::Order::kRandom};
  const Stop stop;
  const auto first = grow(plan, growth, Random(1), kNever, stop, {});
  ASSERT_TRUE(first);
  const Picoseconds until = 3 * kSlot;
  const auto second = grow(plan, growth, Random(2), kNever, stop, {&*first, until});
  ASSERT_TRUE(second);
  const auto kept = std::ranges::lower_bound(first->start, until) - first->start.begin();
  EXPECT_EQ(kept, 2 * 3);  // two links, three slots
  const auto same = [&](const std::vector<int32_t>& before, const std::vector<int32_t>& after) {
    return std::equal(before.begin(), before.begin() + kept, after.begin());
  };
  EXPECT_TRUE(same(first->tree, second->tree) && same(first->generator, second->generator));
  EXPECT_TRUE(same(first->point, second->point));
  EXPECT_NE(first->tree, second->tree);
  EXPECT_EQ(second->tree.size(), size_t{3 * 6});
}

TEST(SymmetricExchange, WaysHalfwayAroundAreSharedOut) {
  const Network links = network(4, 4, ring(4));
  const Translations ring4(links, std::vector<Side>{{4, true}});
  // Two chunks a pair: of those for the opposite rank one goes each way.
  std::vector<int32_t> load(2, 0);
  for (const Way& way : balanced_ways(ring4, 2, Stop())) {
    for (const auto& [generator, times] : way.steps) load[generator] += times;
  }
  EXPECT_EQ(load, (std::vector<int32_t>{4, 4}));
  const Stop stop;
  EXPECT_EQ(exchange(ring4, 2, stop).time, 4 * kSlot);
}

}  // namespace
}  // namespace hocket::synthesizer
