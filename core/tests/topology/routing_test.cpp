#include "hocket/topology/routing.hpp"

#include <gtest/gtest.h>

#include "hocket/error.hpp"

namespace hocket::topology {
namespace {

constexpr Bandwidth kGB = 1'000'000'000;
constexpr Picoseconds kNs = 1000;

/// A ring of `size` ranks; link 2k goes clockwise from rank k, link 2k + 1 the other way.
Graph ring(int32_t size) {
  std::vector<Link> links;
  for (int32_t rank = 0; rank < size; rank++) {
    links.push_back({rank, (rank + 1) % size, 500 * kNs, 50 * kGB});
    links.push_back({rank, (rank + size - 1) % size, 500 * kNs, 50 * kGB});
  }
  return Graph(size, size, links);
}

TEST(Router, TakesTheShorterWayAroundARingAndTiesClockwise) {
  const Graph graph = ring(6);
  Router router(graph);
  EXPECT_EQ(router.route(0, 2), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(router.route(0, 4), (std::vector<int32_t>{1, 11}));
  EXPECT_EQ(router.route(0, 3), (std::vector<int32_t>{0, 2, 4}));
  EXPECT_EQ(router.route(5, 2), (std::vector<int32_t>{10, 0, 2}));
  EXPECT_TRUE(router.route(4, 4).empty());
}

TEST(Router, RanksForwardOnlyWhereSwitchesDoNotConnect) {
  // 0 and 1 share switch 3 over slow links; the fast detour over rank 2 is not for them, but 2 has no other way to 0.
  const Graph graph(3, 4,
                    {{0, 3, 0, kGB}, {3, 1, 0, kGB}, {0, 2, 0, 1000 * kGB}, {2, 1, 0, 1000 * kGB}, {1, 0, 0, kGB}});
  Router router(graph);
  EXPECT_EQ(router.route(0, 1), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(router.route(2, 0), (std::vector<int32_t>{3, 4}));
}

TEST(Router, WeighsLatencyAgainstBandwidthAtTheReferenceSize) {
  // Two switches: 2 is near (2 x 1 us) and thin (1 GB/s), 3 far (2 x 10 us) and thick (10 GB/s).
  const Graph graph(2, 4,
                    {{0, 2, 1000 * kNs, kGB},
                     {2, 1, 1000 * kNs, kGB},
                     {0, 3, 10'000 * kNs, 10 * kGB},
                     {3, 1, 10'000 * kNs, 10 * kGB}});
  EXPECT_EQ(Router(graph, 1000).route(0, 1), (std::vector<int32_t>{0, 1}));     // 2 x (1 + 1) us < 2 x (10 + 0.1) us
  EXPECT_EQ(Router(graph, 100'000).route(0, 1), (std::vector<int32_t>{2, 3}));  // 2 x (1 + 100) us > 2 x (10 + 10) us
}

TEST(Router, NamesThePairThatHasNoRoute) {
  const Graph graph(2, 2, {{0, 1, 0, kGB}});
  Router router(graph);
  try {
    router.route(1, 0);
    FAIL();
  } catch (const Infeasible& error) {
    EXPECT_STREQ(error.what(), "no route from node 1 to node 0: add links that connect them");
  }
  EXPECT_THROW(router.route(0, 2), Infeasible);
  EXPECT_THROW(Router(graph, 0), TopologyError);
}

TEST(Router, SaturatesInsteadOfOverflowing) {
  // Four links of 2^61 ps are 2^63 ps.
  const Graph graph(5, 5, {{0, 1, kHorizon, 1}, {1, 2, kHorizon, 1}, {2, 3, kHorizon, 1}, {3, 4, kHorizon, 1}});
  EXPECT_EQ(Router(graph, int64_t{1} << 62).route(0, 4), (std::vector<int32_t>{0, 1, 2, 3}));
}

TEST(RankRoutes, AreLinksWhereThereAreNoSwitches) {
  const Graph graph(2, 2, {{0, 1, 0, kGB}, {0, 1, 0, 2 * kGB}, {1, 0, 0, kGB}});
  const Routes routes = rank_routes(graph);
  EXPECT_EQ(routes.offset, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(routes.links, (std::vector<int32_t>{0, 1, 2}));
}

TEST(RankRoutes, KeepDirectLinksBesideRoutesThroughSwitches) {
  // Rank 2 hangs on rank 1 alone: no route of this kind leads to it from 0.
  const Graph graph(3, 4,
                    {{0, 1, 0, kGB}, {0, 3, 0, kGB}, {3, 1, 0, kGB}, {1, 3, 0, kGB}, {3, 0, 0, kGB}, {1, 2, 0, kGB}});
  const Routes routes = rank_routes(graph);
  EXPECT_EQ(routes.offset, (std::vector<int64_t>{0, 1, 2, 4, 6}));
  EXPECT_EQ(routes.links, (std::vector<int32_t>{0, 5, 3, 4, 1, 2}));
}

}  // namespace
}  // namespace hocket::topology
