#include "hocket/synthesizer/matching/matching.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hocket/error.hpp"
#include "replay.hpp"

namespace hocket::synthesizer {
namespace {

/// The best of some attempts.
Transfers match_best(const Network& network, const std::vector<int32_t>& origin, int attempts) {
  Stop stop;
  const Demand demand(network.num_ranks, origin);
  Matcher matcher(network, demand, 0);
  Transfers best;
  best.time = kNever;
  for (int number = 0; number < attempts; number++) {
    if (auto found = matcher.next(stop)) best = std::move(*found);
  }
  return best;
}

TEST(Matching, RingMeetsTheIngressBound) {
  // 4 chunks from each of 7 others over 2 links: 14 chunks a link, each 100 ns + 1000 ns.
  const Network network = direct(ring(8), 1000, true);
  const auto origin = all_gather(8, 4);
  const Transfers found = match_best(network, origin, 28);
  expect_valid(network, origin, found);
  EXPECT_EQ(found.time, 14 * 1'100'000);
}

TEST(Matching, LatencyOverlapsUnlessBlocking) {
  const Graph graph(2, 2, {{0, 1, 100'000, 1'000'000'000}, {1, 0, 100'000, 1'000'000'000}});
  const std::vector<int32_t> origin(5, 0);
  EXPECT_EQ(match_best(direct(graph, 1000, true), origin, 1).time, 5 * 1'100'000);
  EXPECT_EQ(match_best(direct(graph, 1000, false), origin, 1).time, 5 * 1'000'000 + 100'000);
}

TEST(Matching, RoutesOverOnePhysicalLinkTakeTurns) {
  // A switch (node 3) with one link up and down for each of 3 ranks: 2 chunks enter each rank, one after the other.
  std::vector<Link> links;
  for (int32_t rank = 0; rank < 3; rank++) links.push_back({rank, 3, 0, 1'000'000'000});
  for (int32_t rank = 0; rank < 3; rank++) links.push_back({3, rank, 0, 1'000'000'000});
  const std::vector<int32_t> path{0, 4, 0, 5, 1, 3, 1, 5, 2, 3, 2, 4};
  const std::vector<int64_t> offset{0, 2, 4, 6, 8, 10, 12};
  const Network network(Graph(3, 4, links), offset, path, 1000, false);
  EXPECT_FALSE(network.uniform());
  const auto origin = all_gather(3, 1);
  const Transfers found = match_best(network, origin, 1);
  expect_valid(network, origin, found);
  EXPECT_EQ(found.time, 2 * 1'000'000);
}

TEST(Matching, SlowLinksCarryWhatTheClusterLacks) {
  // Two fast pairs joined by one slow link each way: each slow link carries exactly the other pair's 2 chunks.
  const Bandwidth fast = 100'000'000'000, slow = 1'000'000'000;
  const Graph graph(
      4, 4, {{0, 1, 0, fast}, {1, 0, 0, fast}, {2, 3, 0, fast}, {3, 2, 0, fast}, {1, 2, 0, slow}, {2, 1, 0, slow}});
  const Network network = direct(graph, 1000, false);
  const auto origin = all_gather(4, 1);
  const Transfers found = match_best(network, origin, 1);
  expect_valid(network, origin, found);
  EXPECT_EQ(found.time, 2 * 1'000'000 + 10'000);
}

TEST(Matching, NamesTheRankThatCannotBeReached) {
  const Graph graph(3, 3, {{0, 1, 0, 1'000'000'000}, {1, 0, 0, 1'000'000'000}, {2, 0, 0, 1'000'000'000}});
  const Network network = direct(graph, 1000, false);
  try {
    match_best(network, all_gather(3, 1), 1);
    FAIL() << "expected Infeasible";
  } catch (const Infeasible& error) {
    EXPECT_NE(std::string(error.what()).find("no link joins ranks 0-1 and rank 2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hocket::synthesizer
