#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/synthesizer/trees_improvement.hpp"

namespace hocket::synthesizer {
namespace {

using topology::Graph;
using topology::Link;

constexpr Bandwidth kBytePerNanosecond = 1'000'000'000;

Network direct(const Graph& graph, int64_t chunk_bytes, bool blocking) {
  std::vector<int64_t> offset(graph.links().size() + 1);
  std::iota(offset.begin(), offset.end(), 0);
  std::vector<int32_t> links(graph.links().size());
  std::iota(links.begin(), links.end(), 0);
  return Network(graph, offset, links, chunk_bytes, blocking);
}

/// Ranks side by side, joined both ways by links of 1 byte/ns with 100 ns latency.
Graph line(int32_t ranks) {
  std::vector<Link> links;
  for (int32_t rank = 0; rank + 1 < ranks; rank++) {
    links.push_back({rank, rank + 1, 100'000, kBytePerNanosecond});
    links.push_back({rank + 1, rank, 100'000, kBytePerNanosecond});
  }
  return Graph(ranks, ranks, links);
}

TEST(Trees, SpanAndLeadToTheRoot) {
  const Graph graph = line(5);
  const Network network = direct(graph, 1000, true);
  Trees trees(5, {2, 0}, true);
  pack(network, {}, 7, Stop(), trees);
  for (int32_t chunk = 0; chunk < 2; chunk++) {
    for (int32_t rank = 0; rank < 5; rank++) {
      const bool above = rank > trees.root[chunk];
      const int32_t up = trees.row(trees.up, chunk)[rank], down = trees.row(trees.down, chunk)[rank];
      if (rank == trees.root[chunk]) {
        EXPECT_EQ(up, kNoLink);
        EXPECT_EQ(down, kNoLink);
        continue;
      }
      EXPECT_EQ(network.src[up], rank);
      EXPECT_EQ(network.dst[up], above ? rank - 1 : rank + 1);
      EXPECT_EQ(network.dst[down], rank);
      EXPECT_EQ(network.src[down], above ? rank - 1 : rank + 1);
    }
  }
}

TEST(Trees, LoadIsSharedByParallelLinks) {
  // Two links of equal speed: of four chunks each carries two, 2 * (100 + 1000) ns.
  const Graph graph(2, 2, {{0, 1, 100'000, kBytePerNanosecond}, {0, 1, 100'000, kBytePerNanosecond}});
  Trees trees(2, {0, 0, 0, 0}, false);
  EXPECT_EQ(pack(direct(graph, 1000, true), {}, 1, Stop(), trees), 2'200'000);
}

TEST(Trees, PipelineOnALine) {
  // From one end to the other of 4 ranks, 10 chunks of 1100 ns: the last leaves after 9 others and takes 3 hops.
  const Graph graph = line(4);
  const Network network = direct(graph, 1000, true);
  Trees trees(4, std::vector<int32_t>(10, 0), false);
  pack(network, {}, 1, Stop(), trees);
  const TimedLegs timed = best_schedule(network, trees, 0, 4, 0, Stop());
  EXPECT_EQ(timed.time, (9 + 3) * 1'100'000);
  EXPECT_EQ(timed.legs.size(), 10u * 3);
}

TEST(Trees, AllReduceOverlapsOnALine) {
  // 20 chunks to and from the middle of 3 ranks: each link carries 20 of 1100 ns; the first is back after the second
  // has come, so one more transfer time ends it all.
  const Graph graph = line(3);
  const Network network = direct(graph, 1000, true);
  Trees trees(3, std::vector<int32_t>(20, 1), true);
  pack(network, {}, 1, Stop(), trees);
  const TimedLegs timed = best_schedule(network, trees, 1'100'000, 4, 0, Stop());
  EXPECT_EQ(timed.time, 21 * 1'100'000);
}

TEST(Trees, BackwardsIsTheMirrorImage) {
  // Backwards, a broadcast is scheduled as a reduction, and handed back as a broadcast.
  const Graph graph = line(4);
  const Network network = direct(graph, 1000, false);
  Trees trees(4, {0, 0, 0}, false);
  pack(network, {}, 1, Stop(), trees);
  LegTimes due = due_times(network, trees, 0);
  const TimedLegs timed = schedule_legs(network, trees, Direction::kBackwards, due, Stop());
  std::vector<Picoseconds> has(3 * 4, 0);
  for (size_t at = 0; at < timed.legs.size(); at++) {
    const Leg& leg = timed.legs[at];
    const Picoseconds start = timed.finish[at] - 1'100'000;
    EXPECT_GE(start, has[leg.chunk * 4 + leg.rank() - 1]) << "rank " << leg.rank() << " of chunk " << leg.chunk;
    has[leg.chunk * 4 + leg.rank()] = timed.finish[at];
  }
  // Held for 1000 ns, under way for 1100: the last of three leaves at 2000 and arrives after three hops.
  EXPECT_EQ(timed.time, 2'000'000 + 3 * 1'100'000);
  EXPECT_EQ(timed.finish.back(), timed.time);
}

TEST(Trees, UnreachableRankIsInfeasible) {
  const Graph graph(3, 3, {{0, 1, 0, kBytePerNanosecond}, {1, 0, 0, kBytePerNanosecond}});
  Trees trees(3, {0}, false);
  EXPECT_THROW(pack(direct(graph, 10, true), {}, 1, Stop(), trees), Infeasible);
}

TEST(Trees, StopsWhenAsked) {
  const Graph graph = line(3);
  Stop stop;
  stop.ask();
  Trees trees(3, {0}, false);
  EXPECT_THROW(pack(direct(graph, 10, true), {}, 1, stop, trees), Stopped);
}

}  // namespace
}  // namespace hocket::synthesizer
