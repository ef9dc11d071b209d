#include "hocket/topology/measures.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "hocket/error.hpp"
#include "hocket/topology/max_flow.hpp"

namespace hocket::topology {
namespace {

constexpr Bandwidth kGB = 1'000'000'000;
constexpr Picoseconds kUs = 1'000'000;
constexpr int64_t kMaxWork = 100'000;

void add_both(std::vector<Link>& links, int32_t a, int32_t b, Picoseconds latency, Bandwidth bandwidth) {
  links.push_back({a, b, latency, bandwidth});
  links.push_back({b, a, latency, bandwidth});
}

/// Two switches (4: ranks 0 and 1, 5: ranks 2 and 3) with 10 GB/s a rank, joined by one trunk.
Graph two_switches(Bandwidth trunk) {
  std::vector<Link> links;
  for (int32_t rank = 0; rank < 4; rank++) add_both(links, rank, 4 + rank / 2, kUs, 10 * kGB);
  add_both(links, 4, 5, kUs, trunk);
  return Graph(4, 6, links);
}

TEST(Connectivity, NamesAPairInEitherDirection) {
  const auto message = [](const std::vector<Link>& links) {
    try {
      require_connected(Graph(3, 3, links));
    } catch (const TopologyError& error) {
      return std::string(error.what());
    }
    return std::string("connected");
  };
  EXPECT_EQ(message({{0, 1, 0, 1}, {1, 2, 0, 1}, {2, 0, 0, 1}}), "connected");
  EXPECT_EQ(message({{0, 1, 0, 1}, {1, 0, 0, 1}, {2, 0, 0, 1}}),
            "rank 0 cannot reach rank 2: add links that connect them");
  EXPECT_EQ(message({{0, 1, 0, 1}, {1, 0, 0, 1}, {0, 2, 0, 1}}),
            "rank 2 cannot reach rank 0: add links that connect them");
}

TEST(RankBandwidth, SumsLinksWithoutSwitches) {
  const Graph graph(3, 3, {{0, 1, 0, 3 * kGB}, {2, 1, 0, 4 * kGB}, {2, 1, 0, kGB}, {1, 0, 0, kGB}, {1, 2, 0, kGB}});
  EXPECT_EQ(rank_ingress_bandwidth(graph), (std::vector<Bandwidth>{kGB, 8 * kGB, kGB}));
  EXPECT_EQ(rank_egress_bandwidth(graph), (std::vector<Bandwidth>{3 * kGB, 2 * kGB, 5 * kGB}));
}

TEST(RankBandwidth, IsLimitedByWhatFeedsTheSwitch) {
  // Rank 2's link from switch 3 takes 10 GB/s, but ranks 0 and 1 feed the switch with 3 + 4 GB/s only.
  const Graph graph(3, 4, {{0, 3, 0, 3 * kGB}, {1, 3, 0, 4 * kGB}, {3, 2, 0, 10 * kGB}, {2, 3, 0, 10 * kGB}});
  EXPECT_EQ(rank_ingress_bandwidth(graph), (std::vector<Bandwidth>{0, 0, 7 * kGB}));
  EXPECT_EQ(rank_egress_bandwidth(graph), (std::vector<Bandwidth>{3 * kGB, 4 * kGB, 0}));
}

TEST(PartIngress, CountsOnlyWhatComesFromOutside) {
  // 0 and 1 share a switch (node 3) with rank 2; 0 -> 1 stays inside.
  const Graph graph(3, 4, {{0, 3, 0, kGB}, {2, 3, 0, 2 * kGB}, {3, 1, 0, 4 * kGB}, {0, 1, 0, kGB}, {2, 0, 0, kGB}});
  EXPECT_EQ(part_ingress_bandwidth(graph, std::vector<int32_t>{0, 0, -1}, 1), (std::vector<Bandwidth>{3 * kGB}));
  EXPECT_EQ(part_ingress_bandwidth(graph, std::vector<int32_t>{1, 1, 0}, 2), (std::vector<Bandwidth>{0, 3 * kGB}));
}

/// The same by one maximum flow through the whole graph: a source before all ranks outside, the part as the sink.
Bandwidth ingress_of_all(const Graph& graph, const std::vector<int32_t>& part, int32_t wanted) {
  const int32_t source = graph.num_nodes(), sink = source + 1;
  MaxFlow network(sink + 1);
  const auto end_of = [&](int32_t node) { return graph.is_switch(node) ? node : part[node] == wanted ? sink : source; };
  for (const Link& link : graph.links()) network.add_arc(end_of(link.src), end_of(link.dst), link.bandwidth);
  return static_cast<Bandwidth>(network.run(source, sink));
}

TEST(PartIngress, IsTheMaximumFlowOfRandomGraphs) {
  std::mt19937 random(7);
  const auto below = [&](int32_t bound) { return static_cast<int32_t>(random() % bound); };
  const std::vector<Bandwidth> bandwidths{1, 2, 3, 7, 50, 1000, kGB, 3 * kGB, Bandwidth{1} << 50};
  for (int round = 0; round < 2000; round++) {
    const int32_t ranks = 2 + below(6), nodes = ranks + below(9);
    std::vector<Link> links;
    for (int32_t count = below(60); count > 0; count--) {
      const int32_t src = below(nodes), dst = below(nodes);
      if (src != dst) links.push_back({src, dst, 0, bandwidths[below(static_cast<int32_t>(bandwidths.size()))]});
    }
    const Graph graph(ranks, nodes, links);
    std::vector<int32_t> part(ranks);
    for (int32_t& one : part) one = below(4) - 1;
    std::vector<Bandwidth> expected;
    for (int32_t at = 0; at < 3; at++) expected.push_back(ingress_of_all(graph, part, at));
    EXPECT_EQ(part_ingress_bandwidth(graph, part, 3), expected) << "round " << round;
  }
}

TEST(AllGatherCut, FindsTheTrunk) {
  // Around one rank: 3 ranks through 10 GB/s. Across the trunk: 2 ranks through its bandwidth, if that is tighter.
  const Cut thin = all_gather_cut(two_switches(4 * kGB), kMaxWork);
  EXPECT_EQ(thin.ranks, 2);
  EXPECT_EQ(thin.bandwidth, 4 * kGB);
  const Cut thick = all_gather_cut(two_switches(20 * kGB), kMaxWork);
  EXPECT_EQ(thick.ranks, 3);
  EXPECT_EQ(thick.bandwidth, 10 * kGB);
}

TEST(AllGatherCut, StaysValidWhenWorkIsLimited) {
  // 3 ranks reach the fourth through its 10 GB/s link, which takes in its neighbour's 10 GB/s.
  const Cut cut = all_gather_cut(two_switches(4 * kGB), 0);
  EXPECT_EQ(cut.ranks, 3);
  EXPECT_EQ(cut.bandwidth, 10 * kGB);
}

TEST(AllGatherCut, RefusesRanksThatReceiveNothing) {
  EXPECT_THROW(all_gather_cut(Graph(2, 2, {{0, 1, 0, kGB}}), kMaxWork), TopologyError);
  EXPECT_THROW(all_gather_cut(Graph(1, 1, {}), kMaxWork), TopologyError);
}

const std::vector<int32_t> kFour{0, 1, 2, 3};

TEST(Eccentricity, AddsWholeHopsBetweenRanksAndCutsThroughSwitches) {
  // 1 MB at 10 GB/s takes 100 us. Rank to rank over both switches: 3 latencies and one serialization.
  const std::vector<int32_t> sources{0, 3};
  const std::vector<Picoseconds> expected{103 * kUs, 103 * kUs};
  EXPECT_EQ(eccentricity_ps(two_switches(10 * kGB), 1'000'000, sources, kFour, Forwarding::kStoreAndForward), expected);
  // With a trunk of 1 GB/s its 1000 us are the largest serialization.
  EXPECT_EQ(eccentricity_ps(two_switches(kGB), 1'000'000, sources, kFour, Forwarding::kStoreAndForward)[0], 1003 * kUs);

  std::vector<Link> links;
  for (int32_t rank = 0; rank + 1 < 4; rank++) add_both(links, rank, rank + 1, kUs, 10 * kGB);
  const Graph line(4, 4, links);
  const std::vector<int32_t> ends{0, 1};
  EXPECT_EQ(eccentricity_ps(line, 1'000'000, ends, kFour, Forwarding::kStoreAndForward),
            (std::vector<Picoseconds>{303 * kUs, 202 * kUs}));
  EXPECT_EQ(eccentricity_ps(line, 1'000'000, ends, kFour, Forwarding::kCutThrough),
            (std::vector<Picoseconds>{103 * kUs, 102 * kUs}));
  EXPECT_EQ(eccentricity_ps(line, 1'000'000, ends, ends, Forwarding::kStoreAndForward),
            (std::vector<Picoseconds>{101 * kUs, 101 * kUs}));
  EXPECT_EQ(eccentricity_ps(line, 0, ends, kFour, Forwarding::kCutThrough),
            (std::vector<Picoseconds>{3 * kUs, 2 * kUs}));
}

TEST(Eccentricity, RefusesWhatItCannotAnswer) {
  const Graph graph(2, 3, {{0, 1, 0, kGB}});
  const std::vector<int32_t> fine{0}, alone{1}, not_a_rank{2}, both{0, 1};
  EXPECT_EQ(eccentricity_ps(graph, 1, fine, both, Forwarding::kCutThrough).size(), 1u);
  EXPECT_THROW(eccentricity_ps(graph, 1, alone, both, Forwarding::kCutThrough), Infeasible);
  EXPECT_THROW(eccentricity_ps(graph, 1, not_a_rank, both, Forwarding::kCutThrough), TopologyError);
  EXPECT_THROW(eccentricity_ps(graph, -1, fine, both, Forwarding::kCutThrough), TopologyError);
}

}  // namespace
}  // namespace hocket::topology
