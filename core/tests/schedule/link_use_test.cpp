#include "hocket/schedule/link_use.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/schedule/use_over_time.hpp"

namespace hocket::schedule {
namespace {

constexpr Bandwidth kBytePerNanosecond = 1'000'000'000;

/// Ranks 0 to 2 with ports of 1, 1 and 2 bytes/ns into switch 4, a trunk of 2 bytes/ns to switch 5, and rank 3 behind
/// it, whose link has the trunk's bandwidth.
topology::Graph graph() {
  return topology::Graph(4, 6,
                         {{0, 4, 0, kBytePerNanosecond},
                          {1, 4, 0, kBytePerNanosecond},
                          {2, 4, 0, 2 * kBytePerNanosecond},
                          {4, 5, 0, 2 * kBytePerNanosecond},
                          {5, 3, 0, 2 * kBytePerNanosecond}},
                         {});
}

const std::vector<int64_t> kOffset{0, 3, 6, 9};
const std::vector<int32_t> kLinks{0, 3, 4, 1, 3, 4, 2, 3, 4};
constexpr int64_t kTrunkHop = 7;  // of the third route

TEST(LinkUse, ATrunkCarriesWhatItHasBandwidthFor) {
  const topology::Graph network = graph();
  const RouteTable routes{&network, kOffset, kLinks};
  LinkUse use(routes, false);
  EXPECT_EQ(use.earliest(0, 0), 0);
  use.take_route(0, 0, 100, 0);
  // The other slow one fits beside it, the fast one needs all of the trunk.
  EXPECT_EQ(use.earliest(1, 10), 10);
  use.take_route(1, 10, 100, 1);
  EXPECT_EQ(use.earliest(2, 20), 110);
  use.take_route(2, 110, 50, 2);
  EXPECT_EQ(use.earliest(0, 0), 160);
  EXPECT_EQ(use.last(3), 2);
  EXPECT_EQ(use.free(3), 160);
}

TEST(LinkUse, NoneOvertakesAnother) {
  const topology::Graph network = graph();
  const RouteTable routes{&network, kOffset, kLinks};
  LinkUse use(routes, false);
  use.take_route(0, 500, 100, 0);
  EXPECT_EQ(use.earliest(1, 0), 500);
}

TEST(LinkUse, ExclusiveLinksCarryOne) {
  const topology::Graph network = graph();
  const RouteTable routes{&network, kOffset, kLinks};
  LinkUse use(routes, true);
  use.take_route(0, 0, 100, 0);
  EXPECT_EQ(use.earliest(1, 0), 100);
}

TEST(LinkUse, ATransferTakesItsPartOfATrunk) {
  const topology::Graph network = graph();
  const RouteTable routes{&network, kOffset, kLinks};
  const LinkUse use(routes, false);
  EXPECT_EQ(use.share(0, 100), 100);  // its own port
  EXPECT_EQ(use.share(1, 100), 50);   // half of the trunk
  EXPECT_EQ(use.share(kTrunkHop, 100), 100);
}

TEST(LinkUse, IsToldOverTime) {
  const topology::Graph network = graph();
  // The first route from 0 on and the third from 120 on, with a chunk of 100 and of 80 bytes: 100 and 40 ns.
  const std::vector<int32_t> chunk{0, 1}, route{0, 2};
  const std::array<bool, 2> reduce{};
  const std::vector<Picoseconds> start{0, 120'000}, finish{100'000, 160'000};
  const Transfers transfers{{&network, kOffset, kLinks}, chunk, route, reduce, start, finish, 2};
  const auto busy = use_over_time(transfers, std::vector<int64_t>{100, 80}, false, 4);
  const auto of = [&](int64_t link) {
    return std::vector<Picoseconds>(busy.begin() + link * 4, busy.begin() + (link + 1) * 4);
  };
  EXPECT_EQ(of(0), (std::vector<Picoseconds>{40'000, 40'000, 20'000, 0}));  // the port of rank 0, in whole
  EXPECT_EQ(of(1), (std::vector<Picoseconds>{0, 0, 0, 0}));
  EXPECT_EQ(of(3), (std::vector<Picoseconds>{20'000, 20'000, 10'000, 40'000}));  // the trunk: half of it, then all
  // Parts of 3 ps cannot be equal: they begin at 0, 53'333 and 106'666 ps, and nothing is lost.
  const auto thirds = use_over_time(transfers, std::vector<int64_t>{100, 80}, false, 3);
  EXPECT_EQ(thirds[0], 53'333);
  EXPECT_EQ(thirds[0] + thirds[1] + thirds[2], 100'000);
}

TEST(LinkUse, PartsOfARouteBetweenRanksHaveRatesOfTheirOwn) {
  // 0 -> 1 at 4 bytes/ns, then 1 -> 2 at 1: the first link is not shared because a later one is slow.
  const topology::Graph network(3, 3, {{0, 1, 0, 4 * kBytePerNanosecond}, {1, 2, 0, kBytePerNanosecond}}, {});
  const std::vector<int64_t> offset{0, 2};
  const std::vector<int32_t> links{0, 1};
  const RouteTable routes{&network, offset, links};
  LinkUse use(routes, false);
  use.take_route(0, 0, 100, 0);
  EXPECT_EQ(use.room(0, 0), 100);
}

TEST(LinkUse, RefusesARouteThatPassesALinkTwice) {
  const topology::Graph network(2, 2, {{0, 1, 0, kBytePerNanosecond}, {1, 0, 0, kBytePerNanosecond}}, {});
  const std::vector<int64_t> offset{0, 3};
  const std::vector<int32_t> links{0, 1, 0};
  const RouteTable routes{&network, offset, links};
  EXPECT_THROW(LinkUse(routes, false), ScheduleError);
}

}  // namespace
}  // namespace hocket::schedule
