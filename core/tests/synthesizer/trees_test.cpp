#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/synthesizer/trees/improvement.hpp"

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
  pack(network, Lanes::alone(network), {}, 7, Stop(), trees);
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
  const Network network = direct(graph, 1000, true);
  EXPECT_EQ(pack(network, Lanes::alone(network), {}, 1, Stop(), trees), 2'200'000);
}

TEST(Trees, PipelineOnALine) {
  // From one end to the other of 4 ranks, 10 chunks of 1100 ns: the last leaves after 9 others and takes 3 hops.
  const Graph graph = line(4);
  const Network network = direct(graph, 1000, true);
  Trees trees(4, std::vector<int32_t>(10, 0), false);
  pack(network, Lanes::alone(network), {}, 1, Stop(), trees);
  const TimedLegs timed = best_schedule(Lanes::alone(network), Legs(network, trees), 0, 4, 0, Stop());
  EXPECT_EQ(timed.time, (9 + 3) * 1'100'000);
  EXPECT_EQ(timed.legs.size(), 10u * 3);
}

TEST(Trees, AllReduceOverlapsOnALine) {
  // 20 chunks to and from the middle of 3 ranks: each link carries 20 of 1100 ns; the first is back after the second
  // has come, so one more transfer time ends it all.
  const Graph graph = line(3);
  const Network network = direct(graph, 1000, true);
  Trees trees(3, std::vector<int32_t>(20, 1), true);
  pack(network, Lanes::alone(network), {}, 1, Stop(), trees);
  const TimedLegs timed = best_schedule(Lanes::alone(network), Legs(network, trees), 1'100'000, 4, 0, Stop());
  EXPECT_EQ(timed.time, 21 * 1'100'000);
}

TEST(Trees, BackwardsIsTheMirrorImage) {
  // Backwards, a broadcast is scheduled as a reduction, and handed back as a broadcast.
  const Graph graph = line(4);
  const Network network = direct(graph, 1000, false);
  Trees trees(4, {0, 0, 0}, false);
  pack(network, Lanes::alone(network), {}, 1, Stop(), trees);
  const Lanes lanes = Lanes::alone(network);
  const Legs legs(network, trees);
  Urgency urgency = due_times(lanes, legs, 0);
  const TimedLegs timed = schedule_legs(lanes, legs, Direction::kBackwards, urgency, Stop());
  std::vector<Picoseconds> has(legs.size(), 0);
  for (size_t at = 0; at < timed.legs.size(); at++) {
    const int32_t leg = timed.legs[at];
    EXPECT_GE(timed.finish[at] - 1'100'000, has[legs[leg].parent]) << "leg " << leg;
    has[leg] = timed.finish[at];
  }
  // Held for 1000 ns, under way for 1100: the last of three leaves at 2000 and arrives after three hops.
  EXPECT_EQ(timed.time, 2'000'000 + 3 * 1'100'000);
  EXPECT_EQ(timed.finish.back(), timed.time);
}

TEST(Trees, ImagesUnderAMirrorAreScheduledWithWhatTheyAreImagesOf) {
  // Ends and middles of a line of 4 change places: link i between ranks r and r + 1 becomes the one of the same
  // direction, as seen from the other end. One chunk from rank 1 stands for one from rank 2, too.
  const Graph graph = line(4);
  const Network network = direct(graph, 1000, true);
  const std::vector<int32_t> images{0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0};
  const Lanes lanes(network, images);
  EXPECT_EQ(lanes.order(), 2);
  EXPECT_EQ(lanes.num_lanes(), 3);
  Trees trees(4, {1}, false);
  // On each of the two links that leave the middles outwards are both chunks.
  EXPECT_EQ(pack(network, lanes, {}, 1, Stop(), trees), 2 * 1'100'000);
  const Legs legs(network, trees);
  const TimedLegs timed = best_schedule(lanes, legs, 0, 2, 0, Stop());
  const std::vector<int64_t> chunk_bytes{1000, 900};
  const ReducingTransfers found = transfers(network, lanes, legs, timed, chunk_bytes);
  ASSERT_EQ(found.transfers.chunk.size(), 6u);
  for (size_t at = 0; at < 6; at += 2) {
    EXPECT_EQ(found.transfers.chunk[at], 0);
    EXPECT_EQ(found.transfers.chunk[at + 1], 1);
    EXPECT_EQ(found.transfers.link[at + 1], 5 - found.transfers.link[at]);
    EXPECT_EQ(found.transfers.start[at + 1], found.transfers.start[at]);
    EXPECT_EQ(found.transfers.finish[at] - found.transfers.start[at], 1'100'000);
    EXPECT_EQ(found.transfers.finish[at + 1] - found.transfers.start[at + 1], 1'000'000);
  }
  EXPECT_EQ(timed.time, 2 * 1'100'000);
}

TEST(Lanes, RefuseWhatIsNoSymmetryOfTheLinks) {
  const Graph graph(3, 3, {{0, 1, 0, 1000}, {1, 0, 0, 1000}, {1, 2, 0, 2000}, {2, 1, 0, 2000}});
  const Network network = direct(graph, 1000, true);
  for (const std::vector<int32_t>& images : {
           std::vector<int32_t>{0, 1, 2, 3, 3, 2, 1, 0},  // other times
           std::vector<int32_t>{0, 1, 2, 3, 0, 1, 3, 2},  // links that stay
           std::vector<int32_t>{1, 0, 3, 2},              // no neutral element
           std::vector<int32_t>{0, 1, 2, 3, 1, 0},        // an image missing
           std::vector<int32_t>{0, 1, 2, 4},              // no link
       }) {
    EXPECT_THROW(Lanes(network, images), Error);
  }
  EXPECT_EQ(Lanes(network, std::vector<int32_t>{0, 1, 2, 3, 1, 0, 3, 2}).num_lanes(), 2);
}

TEST(Trees, TimesBeyondTheHorizonAreInfeasible) {
  // 2^61 ps is the longest time: of chunks that take 2^60 each a link carries two, not three.
  for (const int32_t chunks : {1, 2, 3, 1000}) {
    const Graph graph(2, 2, {{0, 1, kHorizon / 2, kBytePerNanosecond}, {1, 0, 0, kBytePerNanosecond}});
    const Network network = direct(graph, 0, true);
    const Lanes lanes = Lanes::alone(network);
    Trees trees(2, std::vector<int32_t>(chunks, 0), false);
    const Growth growth{.passes = 4, .depth_percent = 1 << 20};
    if (chunks > 2) {
      EXPECT_THROW(pack(network, lanes, growth, 1, Stop(), trees), Infeasible);
      continue;
    }
    EXPECT_EQ(pack(network, lanes, growth, 1, Stop(), trees) >> 40, chunks * (kHorizon / 2) >> 40);
    EXPECT_EQ(best_schedule(lanes, Legs(network, trees), 0, 2, 0, Stop()).time, chunks * (kHorizon / 2));
  }
}

TEST(Trees, UnreachableRankIsInfeasible) {
  const Graph graph(3, 3, {{0, 1, 0, kBytePerNanosecond}, {1, 0, 0, kBytePerNanosecond}});
  Trees trees(3, {0}, false);
  const Network network = direct(graph, 10, true);
  EXPECT_THROW(pack(network, Lanes::alone(network), {}, 1, Stop(), trees), Infeasible);
}

TEST(Trees, StopsWhenAsked) {
  const Graph graph = line(3);
  Stop stop;
  stop.ask();
  Trees trees(3, {0}, false);
  const Network network = direct(graph, 10, true);
  EXPECT_THROW(pack(network, Lanes::alone(network), {}, 1, stop, trees), Stopped);
}

}  // namespace
}  // namespace hocket::synthesizer
