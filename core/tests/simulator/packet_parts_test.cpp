#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "../../src/simulator/network/packet/line_table.hpp"
#include "../../src/simulator/network/packet/parts.hpp"
#include "../../src/simulator/network/packet/rate_control.hpp"
#include "hocket/simulator/packets.hpp"

namespace hocket::simulator {
namespace {

TEST(LineTable, IsAMapThatForgets) {
  LineTable table;
  std::map<uint64_t, uint32_t> expected;
  std::mt19937 random(1);
  for (uint32_t step = 0; step < 100'000; step++) {
    const uint64_t key = LineTable::key(static_cast<int32_t>(random() % 40), static_cast<int32_t>(random() % 40));
    if (expected.contains(key)) {
      ASSERT_EQ(table[key], expected[key]);
      table.erase(key);
      expected.erase(key);
    } else {
      ASSERT_EQ(table[key], kNone);
      table[key] = expected[key] = step;
    }
  }
}

TEST(Latencies, AreExactToTheirBuckets) {
  for (Picoseconds time = 0; time < Picoseconds{1} << 60; time += 1 + time / 3) {
    Latencies found;
    found.add(time);
    found.for_each([&](Picoseconds middle, int64_t count) {
      EXPECT_EQ(count, 1);
      EXPECT_LE(std::abs(middle - time), time / 256);
    });
    EXPECT_EQ(found.most_ps(), time);
    EXPECT_EQ(found.mean_ps(), static_cast<double>(time));
  }
}

TEST(Credits, ComeInTheOrderOfTheirTimes) {
  Credits credits;
  credits.push(30, 3);
  credits.push(10, 1);
  credits.push(20, 2);
  EXPECT_EQ(credits.next_at(), 10);
  EXPECT_EQ(credits.take(9), 0);
  EXPECT_EQ(credits.take(20), 3);
  EXPECT_EQ(credits.take(30), 3);
  EXPECT_TRUE(credits.empty());
}

// The first notification halves the rate, as alpha begins at 1; half of the way back in each of five timers.
TEST(RateControl, HalvesAndRecovers) {
  const RateSettings settings{.active = true};
  RateControl control(1'000'000);
  EXPECT_TRUE(control.at_line_rate());
  control.cut(0, settings);
  EXPECT_EQ(control.rate(0, settings), 500'000);
  EXPECT_EQ(control.rate(settings.timer_ps - 1, settings), 500'000);
  EXPECT_EQ(control.rate(settings.timer_ps, settings), 750'000);
  EXPECT_EQ(control.rate(2 * settings.timer_ps, settings), 875'000);
  // So do as many bytes.
  control.sent(settings.counter_bytes, settings);
  EXPECT_EQ(control.rate(2 * settings.timer_ps, settings), 937'500);
  EXPECT_EQ(control.rate(1000 * settings.timer_ps, settings), 1'000'000);
  EXPECT_TRUE(control.at_line_rate());
  // However often it is cut, something is left.
  for (Picoseconds at = 0; at < 1000; at++) control.cut(1000 * settings.timer_ps + at, settings);
  EXPECT_EQ(control.rate(1001 * settings.timer_ps, settings), 1'000);
}

}  // namespace
}  // namespace hocket::simulator
