#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/simulator/job.hpp"
#include "hocket/simulator/replay.hpp"
#include "hocket/topology/graph.hpp"

namespace hocket::simulator {
namespace {

using topology::Graph;

constexpr Bandwidth kByteAPicosecond = kPicosecondsPerSecond;

/// Two messages of 1000 bytes, from ranks 0 and 1 over switch 3 to rank 2, sent at 0. Links: latency 10, 1 byte/ps.
Outcome two_messages(std::string_view model, bool stores, Bandwidth last_link = kByteAPicosecond) {
  const Graph graph(3, 4, {{0, 3, 10, kByteAPicosecond}, {1, 3, 10, kByteAPicosecond}, {3, 2, 10, last_link}});
  const std::vector<int64_t> rank_offset{0, 1, 2, 4}, operand{0, 1, 0, 1}, no_dependencies(5, 0);
  const std::vector<uint8_t> kind{3, 3, 4, 4};
  const std::vector<int32_t> member(4, 0);
  const Job job(graph, {rank_offset, kind, operand, member, no_dependencies, {}},
                {{{}, {0, 2, 4}, {0, 2, 1, 2}, {}}, {1000, 1000}, {0, 0}, {0, 1}}, {}, {}, {}, {});
  Fidelity fidelity{.links = LinkSettings::plain(graph), .slowdown = {}, .record_occupancy = true};
  fidelity.links.stores.assign(graph.links().size(), stores);
  return replay(job, {}, graph, model, fidelity);
}

TEST(Network, StoreAndForwardPaysEveryLinkAndQueues) {
  const Outcome outcome = two_messages("congestion", true);
  // At the switch at 1000 + 10; the first leaves 1010..2010, the second 2010..3010; 10 more to arrive.
  EXPECT_EQ(outcome.finish_ps[2], 2020);
  EXPECT_EQ(outcome.finish_ps[3], 3020);
  EXPECT_EQ(outcome.links[2].busy_ps, 2000);
  EXPECT_EQ(outcome.links[2].bytes, 2000);
  EXPECT_EQ(outcome.links[2].messages, 2);
  EXPECT_EQ(outcome.events, 4);
}

TEST(Network, CutThroughPaysTheNarrowestLinkAndQueues) {
  const Outcome outcome = two_messages("congestion", false);
  // Heads at the switch at 10; the first leaves 10..1010, the second 1010..2010; 10 more to arrive.
  EXPECT_EQ(outcome.finish_ps[2], 1020);
  EXPECT_EQ(outcome.finish_ps[3], 2020);
}

TEST(Network, CutThroughWaitsForTheTailOfASlowerLinkBefore) {
  const Outcome outcome = two_messages("congestion", false, 2 * kByteAPicosecond);
  // The fast link could be done at 510 and 1010, but the tails come in at 1010: both arrive 10 later.
  EXPECT_EQ(outcome.finish_ps[2], 1020);
  EXPECT_EQ(outcome.finish_ps[3], 1020);
}

TEST(Network, UncontendedSharesLinksForFree) {
  const Outcome cut_through = two_messages("uncontended", false);
  const Outcome stored = two_messages("uncontended", true);
  EXPECT_EQ(cut_through.finish_ps[3], 10 + 10 + 1000);
  EXPECT_EQ(stored.finish_ps[3], 10 + 10 + 1000 + 1000);
}

TEST(Network, AnalyticalChargesALinkForEachMessage) {
  const Outcome outcome = two_messages("analytical", false);
  // 1000 and 2000 ps of the last link, asked for at 0, and two latencies of 10.
  EXPECT_EQ(outcome.finish_ps[2], 1020);
  EXPECT_EQ(outcome.finish_ps[3], 2020);
  EXPECT_EQ(outcome.events, 2);
  // Stored at the switch: both are there at 1010 and ask for the last link then.
  EXPECT_EQ(two_messages("analytical", true).finish_ps[2], 2020);
  EXPECT_EQ(two_messages("analytical", true).finish_ps[3], 3020);
}

TEST(Network, FlowsShareALinkEqually) {
  const Outcome outcome = two_messages("flow", false);
  // Half of 1 byte/ps each: 2000 bytes need 2000 ps, then two latencies of 10.
  EXPECT_EQ(outcome.finish_ps[2], 2020);
  EXPECT_EQ(outcome.finish_ps[3], 2020);
  EXPECT_EQ(outcome.links[2].busy_ps, 2000);
  // Stored at the switch, each has its first link to itself (1000 + 10), then they share the last (2000 + 10).
  EXPECT_EQ(two_messages("flow", true).finish_ps[3], 3020);
}

TEST(Network, FlowsOfAStreamFollowOneAnother) {
  // Two messages of 1000 bytes over a link of 1 byte/ps: one after the other, or both at half of it.
  const Graph graph(2, 2, {{0, 1, 10, kByteAPicosecond}});
  const std::vector<int64_t> rank_offset{0, 0, 2}, operand{0, 1}, no_dependencies(3, 0);
  const std::vector<uint8_t> kind{3, 3};
  const std::vector<int32_t> member(2, 0);
  const auto finish = [&](const std::vector<int32_t>& stream) {
    const Job job(graph, {rank_offset, kind, operand, member, no_dependencies, {}},
                  {{{}, {0, 1, 2}, {0, 0}, {}}, {1000, 1000}, {0, 0}, stream}, {}, {}, {}, {});
    const Fidelity fidelity{.links = LinkSettings::plain(graph), .slowdown = {}};
    return replay(job, {}, graph, "flow", fidelity).finish_ps;
  };
  EXPECT_EQ(finish({7, 7}), (std::vector<Picoseconds>{1010, 2010}));
  EXPECT_EQ(finish({0, 1}), (std::vector<Picoseconds>{2010, 2010}));
}

/// Four messages from ranks 0..3 over switch 5 to rank 4, all sent at 0; links of 1 byte/ps and no latency, so that all
/// heads are at the switch at 0. `bytes` and `priority` of each; returns when each arrives.
std::vector<Picoseconds> four_messages(Queueing queueing, const std::vector<int64_t>& bytes,
                                       const std::vector<int32_t>& priority) {
  std::vector<topology::Link> links;
  for (int32_t rank = 0; rank < 4; rank++) links.push_back({rank, 5, 10 * rank, kByteAPicosecond});
  links.push_back({5, 4, 0, kByteAPicosecond});
  const Graph graph(5, 6, links);
  const std::vector<int64_t> rank_offset{0, 1, 2, 3, 4, 4}, operand{0, 1, 2, 3}, no_dependencies(5, 0);
  const std::vector<uint8_t> kind(4, 3);
  const std::vector<int32_t> member(4, 0);
  const Job job(graph, {rank_offset, kind, operand, member, no_dependencies, {}},
                {{{}, {0, 2, 4, 6, 8}, {0, 4, 1, 4, 2, 4, 3, 4}, {}}, bytes, priority, {0, 1, 2, 3}}, {}, {}, {}, {});
  Fidelity fidelity{.links = LinkSettings::plain(graph), .slowdown = {}};
  fidelity.links.queueing[4] = queueing;
  return replay(job, {}, graph, "congestion", fidelity).finish_ps;
}

// Heads come at 0, 10, 20 and 30; the first message is served at once (100 ps), and then the discipline chooses.
TEST(Network, FifoServesWhoCameFirst) {
  EXPECT_EQ(four_messages(Queueing::kFifo, {100, 200, 50, 70}, {0, 0, 0, 0}),
            (std::vector<Picoseconds>{100, 100 + 200, 300 + 50, 350 + 70}));
}

TEST(Network, LifoServesWhoCameLast) {
  EXPECT_EQ(four_messages(Queueing::kLifo, {100, 200, 50, 70}, {0, 0, 0, 0}),
            (std::vector<Picoseconds>{100, 220 + 200, 170 + 50, 100 + 70}));
}

TEST(Network, PriorityServesTheHighestAndInterruptsNobody) {
  EXPECT_EQ(four_messages(Queueing::kPriority, {100, 200, 50, 70}, {0, 1, 3, 1}),
            (std::vector<Picoseconds>{100, 150 + 200, 100 + 50, 350 + 70}));
}

TEST(Network, SmallestRemainingServesTheShortest) {
  EXPECT_EQ(four_messages(Queueing::kSmallestRemaining, {100, 200, 50, 70}, {0, 0, 0, 0}),
            (std::vector<Picoseconds>{100, 220 + 200, 100 + 50, 150 + 70}));
}

TEST(Network, ComputationGoesOnMoreSlowlyWhileItsRankCommunicates) {
  // Rank 0 computes 1000 ps and sends 300 bytes at 1 byte/ps from 0 on. At half the pace it has done 150 when the
  // message has arrived at 300; the other 850 take until 1150.
  const Graph graph(2, 2, {{0, 1, 0, kByteAPicosecond}});
  const std::vector<int64_t> rank_offset{0, 2, 2}, operand{1000, 0}, no_dependencies(3, 0);
  const std::vector<uint8_t> kind{1, 3};
  const std::vector<int32_t> member(2, 0);
  const Job job(graph, {rank_offset, kind, operand, member, no_dependencies, {}},
                {{{}, {0, 1}, {0}, {}}, {300}, {0}, {0}}, {}, {}, {}, {});
  const Fidelity fidelity{.links = LinkSettings::plain(graph), .slowdown = {2, 1}};
  const Outcome outcome = replay(job, {}, graph, "congestion", fidelity);
  EXPECT_EQ(outcome.finish_ps, (std::vector<Picoseconds>{1150, 300}));
  EXPECT_EQ(outcome.slowed_ps, (std::vector<Picoseconds>{150, 0}));
}

TEST(Network, RefusesTimesBeyondTheHorizonBeforeRecordingThem) {
  // The head is at the last link after seven latencies of 2^60 ps, and that works for 10^18 ps: until 9.07 x 10^18, as
  // far as bins that double from 1000 ps reach before they leave 64 bits.
  constexpr int32_t kHops = 8;
  std::vector<topology::Link> links;
  for (int32_t hop = 0; hop < kHops; hop++) {
    links.push_back({hop == 0 ? 0 : hop + 1, hop + 1 == kHops ? 1 : hop + 2, kHorizon / 2, 1000});
  }
  const Graph graph(2, 2 + kHops - 1, links);
  const std::vector<int64_t> rank_offset{0, 1, 1}, operand{0}, no_dependencies(2, 0);
  const std::vector<uint8_t> kind{3};
  const std::vector<int32_t> member(1, 0);
  const Job job(graph, {rank_offset, kind, operand, member, no_dependencies, {}},
                {{{}, {0, kHops}, {0, 1, 2, 3, 4, 5, 6, 7}, {}}, {1'000'000'000}, {0}, {0}}, {}, {}, {}, {});
  const Fidelity fidelity{.links = LinkSettings::plain(graph), .slowdown = {}, .link_bins = 2};
  for (const std::string_view model : {"uncontended", "analytical", "congestion", "flow"}) {
    EXPECT_THROW(replay(job, {}, graph, model, fidelity), Infeasible);
  }
}

TEST(Network, RecordsWhatLinksDidWhen) {
  const Outcome outcome = two_messages("congestion", false);
  std::vector<Picoseconds> starts;
  for (const Occupancy& work : outcome.occupancy) {
    EXPECT_EQ(work.collective, -1);
    EXPECT_EQ(work.finish_ps - work.start_ps, 1000);
    if (work.link == 2) starts.push_back(work.start_ps);
  }
  EXPECT_EQ(starts, (std::vector<Picoseconds>{10, 1010}));
}

}  // namespace
}  // namespace hocket::simulator
