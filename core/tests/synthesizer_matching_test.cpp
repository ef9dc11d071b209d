#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/synthesizer/matching.hpp"
#include "hocket/synthesizer/rounds.hpp"

namespace hocket::synthesizer {
namespace {

using topology::Graph;
using topology::Link;

/// Every link is a route of its own.
Network direct(const Graph& graph, int64_t chunk_bytes, bool blocking) {
  std::vector<int64_t> offset(graph.links().size() + 1);
  std::iota(offset.begin(), offset.end(), 0);
  std::vector<int32_t> links(graph.links().size());
  std::iota(links.begin(), links.end(), 0);
  return Network(graph, offset, links, chunk_bytes, blocking);
}

/// Links of 1 byte/ns with 100 ns latency between neighbours on a circle, both ways.
Graph ring(int32_t size) {
  std::vector<Link> links;
  for (int32_t rank = 0; rank < size; rank++) {
    links.push_back({rank, (rank + 1) % size, 100'000, 1'000'000'000});
    links.push_back({(rank + 1) % size, rank, 100'000, 1'000'000'000});
  }
  return Graph(size, size, links);
}

/// The best of some attempts.
Transfers match_best(const Network& network, const std::vector<int32_t>& origin, int attempts) {
  Stop stop;
  Matcher matcher(network, origin, 0);
  Transfers best;
  best.time = kNever;
  for (int number = 0; number < attempts; number++) {
    if (auto found = matcher.attempt(number, best.time, stop)) best = std::move(*found);
  }
  return best;
}

std::vector<int32_t> all_gather(int32_t ranks, int32_t chunks) {
  std::vector<int32_t> origin(ranks * chunks);
  for (size_t chunk = 0; chunk < origin.size(); chunk++) origin[chunk] = static_cast<int32_t>(chunk) / chunks;
  return origin;
}

/// Replays transfers: every source holds what it sends, no link is held twice, every rank gets every chunk once.
void expect_valid(const Network& network, const std::vector<int32_t>& origin, const Transfers& transfers) {
  std::map<std::pair<int32_t, int32_t>, Picoseconds> at;
  for (size_t chunk = 0; chunk < origin.size(); chunk++) at[{origin[chunk], static_cast<int32_t>(chunk)}] = 0;
  std::map<int32_t, Picoseconds> free;
  for (size_t id = 0; id < transfers.chunk.size(); id++) {
    const int32_t link = transfers.link[id], chunk = transfers.chunk[id];
    const auto held = at.find({network.src[link], chunk});
    ASSERT_TRUE(held != at.end() && held->second <= transfers.start[id]) << "transfer " << id;
    for (int32_t physical : network.path[link]) {
      ASSERT_LE(free[physical], transfers.start[id]) << "transfer " << id;
      free[physical] = transfers.start[id] + network.hold[link];
    }
    ASSERT_EQ(transfers.finish[id], transfers.start[id] + network.travel[link]);
    ASSERT_TRUE(at.insert({{network.dst[link], chunk}, transfers.finish[id]}).second) << "transfer " << id;
  }
  EXPECT_EQ(at.size(), origin.size() * network.num_ranks);
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
  for (const bool rounds : {false, true}) {
    try {
      rounds ? match_rounds(network, all_gather(3, 1), 1, 0, 1) : match_best(network, all_gather(3, 1), 1);
      FAIL() << "expected Infeasible";
    } catch (const Infeasible& error) {
      EXPECT_NE(std::string(error.what()).find("chunk 0: no path of links joins rank 0 and rank 2"), std::string::npos)
          << error.what();
    }
  }
}

TEST(Rounds, AnyNumberOfThreadsFindsTheSame) {
  for (const bool blocking : {false, true}) {
    const Network network = direct(ring(33), 50, blocking);  // latency is twice the serialization: 3 rounds a hop
    const auto origin = all_gather(33, 17);
    const Transfers one = match_rounds(network, origin, rounds_per_hop(network), 5, 1);
    const Transfers three = match_rounds(network, origin, rounds_per_hop(network), 5, 3);
    expect_valid(network, origin, one);
    EXPECT_EQ(one.chunk, three.chunk);
    EXPECT_EQ(one.link, three.link);
    EXPECT_EQ(one.start, three.start);
  }
}

TEST(Rounds, RefusesLinksThatDiffer) {
  const Graph graph(2, 2, {{0, 1, 0, 1'000'000'000}, {1, 0, 1, 1'000'000'000}});
  EXPECT_THROW(match_rounds_best(direct(graph, 1000, false), all_gather(2, 1), 0, 1, 0, 1), ScheduleError);
}

}  // namespace
}  // namespace hocket::synthesizer
