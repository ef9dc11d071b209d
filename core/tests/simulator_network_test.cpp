#include <gtest/gtest.h>

#include <string_view>
#include <vector>

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
                {{0, 2, 4}, {0, 2, 1, 2}, {1000, 1000}, {0, 0}}, {}, {}, {});
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

TEST(Network, AnalyticalSharesLinksForFree) {
  const Outcome cut_through = two_messages("analytical", false);
  const Outcome stored = two_messages("analytical", true);
  EXPECT_EQ(cut_through.finish_ps[3], 10 + 10 + 1000);
  EXPECT_EQ(stored.finish_ps[3], 10 + 10 + 1000 + 1000);
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
