#include <gtest/gtest.h>

#include <vector>

#include "hocket/error.hpp"
#include "hocket/synthesizer/routing/paths.hpp"
#include "hocket/synthesizer/routing/schedule.hpp"

namespace hocket::synthesizer {
namespace {

using topology::Graph;
using topology::Link;

constexpr Bandwidth kByteANanosecond = 1'000'000'000;

RoutedTransfers route(const Graph& graph, const Packets& packets, bool blocking, int passes = 4) {
  const Stop stop;
  PacketRouter router(graph, packets, {}, blocking, 0);
  for (int pass = 0; pass < passes; pass++) router.pass(1'000'000, 20, stop);
  return schedule_packets(graph, packets, router.paths(), blocking, Rule::kLongestWay, stop);
}

TEST(Routing, PacketsSpreadOverDisjointWays) {
  // From 0 to 3 over 1 or over 2: of 8 packets of 1 us a link 4 go either way, the last one hop behind the others.
  const Graph graph(4, 4,
                    {{0, 1, 0, kByteANanosecond},
                     {0, 2, 0, kByteANanosecond},
                     {1, 3, 0, kByteANanosecond},
                     {2, 3, 0, kByteANanosecond}});
  const std::vector<int32_t> src(8, 0), dst(8, 3);
  const std::vector<int64_t> bytes(8, 1000);
  const RoutedTransfers found = route(graph, {src, dst, bytes}, false);
  EXPECT_EQ(found.packet.size(), 16u);
  EXPECT_EQ(found.time, (4 + 1) * 1'000'000);
}

TEST(Routing, PortsOfASwitchServeAPermutationAtATime) {
  // 5 ranks at switch 5, each with a packet for each other: 4 permutations, one after the other.
  std::vector<Link> links;
  for (int32_t rank = 0; rank < 5; rank++) links.push_back({rank, 5, 100'000, kByteANanosecond});
  for (int32_t rank = 0; rank < 5; rank++) links.push_back({5, rank, 100'000, kByteANanosecond});
  std::vector<int32_t> src, dst;
  for (int32_t from = 0; from < 5; from++) {
    for (int32_t to = 0; to < 5; to++) {
      if (from == to) continue;
      src.push_back(from);
      dst.push_back(to);
    }
  }
  const std::vector<int64_t> bytes(src.size(), 1000);
  EXPECT_EQ(route(Graph(5, 6, links), {src, dst, bytes}, true).time, 4 * 1'200'000);
  EXPECT_EQ(route(Graph(5, 6, links), {src, dst, bytes}, false).time, 4 * 1'000'000 + 200'000);
}

TEST(Routing, FarPacketsGoFirst) {
  // A line 0 -> 1 -> 2: the packet for 2 leaves before the one for 1, so that nothing waits at the end.
  const Graph graph(3, 3, {{0, 1, 0, kByteANanosecond}, {1, 2, 0, kByteANanosecond}});
  const std::vector<int32_t> src{0, 0}, dst{1, 2};
  const std::vector<int64_t> bytes{1000, 1000};
  const RoutedTransfers found = route(graph, {src, dst, bytes}, false);
  EXPECT_EQ(found.packet, (std::vector<int32_t>{1, 0, 1}));
  EXPECT_EQ(found.time, 2 * 1'000'000);
}

TEST(Routing, RanksThatMayNotRelayAreGoneAround) {
  const Graph graph(4, 4,
                    {{0, 1, 0, kByteANanosecond},
                     {1, 3, 0, kByteANanosecond},
                     {0, 2, 0, kByteANanosecond},
                     {2, 3, 0, kByteANanosecond}});
  const std::vector<int32_t> src{0}, dst{3};
  const std::vector<int64_t> bytes{1000};
  const std::vector<uint8_t> relays{1, 0, 1, 1}, none{1, 0, 0, 1};
  PacketRouter router(graph, {src, dst, bytes}, relays, false, 0);
  router.pass(1, 20, Stop());
  EXPECT_EQ(router.paths().links, (std::vector<int32_t>{2, 3}));
  PacketRouter stuck(graph, {src, dst, bytes}, none, false, 0);
  EXPECT_THROW(stuck.pass(1, 20, Stop()), Infeasible);
}

TEST(Routing, EndsWhenAsked) {
  const Graph graph(2, 2, {{0, 1, 0, kByteANanosecond}});
  const std::vector<int32_t> src{0}, dst{1};
  const std::vector<int64_t> bytes{1000};
  Stop stop;
  stop.ask();
  PacketRouter router(graph, {src, dst, bytes}, {}, false, 0);
  EXPECT_THROW(router.pass(1, 20, stop), Stopped);
}

}  // namespace
}  // namespace hocket::synthesizer
