#include "hocket/simulator/link_bins.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hocket::simulator {
namespace {

TEST(LinkBins, SplitsWorkAtTheEdgesOfBins) {
  LinkBins bins(2, 4);  // bins of 1000 ps at first
  bins.add(1, 500, 2500, 2000);
  EXPECT_EQ(bins.width_ps(), 1000);
  EXPECT_EQ(bins.busy_ps(), (std::vector<Picoseconds>{0, 0, 0, 0, 500, 1000, 500, 0}));
}

TEST(LinkBins, DoublesItsWidthAndLosesNothing) {
  LinkBins bins(1, 4);
  bins.add(0, 0, 1500, 1500);
  bins.add(0, 8000, 8001, 1);  // the first instant that needs bins of 4000 ps
  EXPECT_EQ(bins.width_ps(), 4000);
  EXPECT_EQ(bins.busy_ps(), (std::vector<Picoseconds>{1500, 0, 1, 0}));
}

TEST(LinkBins, KeepsTheLastInstantOfABin) {
  LinkBins bins(1, 2);
  bins.add(0, 1000, 2000, 1000);
  EXPECT_EQ(bins.width_ps(), 1000);
  EXPECT_EQ(bins.busy_ps(), (std::vector<Picoseconds>{0, 1000}));
}

TEST(LinkBins, SpreadsWorkOverASlowerFlow) {
  LinkBins bins(1, 4);
  bins.add(0, 500, 2500, 401);  // a quarter before 1000, half by 2000: 401 / 4 = 100.25, 3 * 401 / 4 = 300.75
  EXPECT_EQ(bins.busy_ps(), (std::vector<Picoseconds>{100, 200, 101, 0}));
}

}  // namespace
}  // namespace hocket::simulator
