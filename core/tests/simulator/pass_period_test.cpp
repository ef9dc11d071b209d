#include "../../src/simulator/pass_period.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

namespace hocket::simulator {
namespace {

/// Begins and ends of `passes` passes of two nodes each, behind a launch of 5 ps: node 1 is at work for 4 ps from when
/// node 0 ends, which is at work for 3 ps from `begin(pass)` on.
Outcome outcome_of(int64_t passes, const std::function<Picoseconds(int64_t)>& begin) {
  Outcome outcome{.start_ps = {0}, .finish_ps = {5}};
  for (int64_t pass = 0; pass < passes; pass++) {
    for (const Picoseconds start : {begin(pass), begin(pass) + 3}) outcome.start_ps.push_back(start);
    for (const Picoseconds finish : {begin(pass) + 3, begin(pass) + 7}) outcome.finish_ps.push_back(finish);
  }
  return outcome;
}

TEST(PassPeriod, FindsPassesThatFollowEachOtherAtOneDistance) {
  const auto found = period_of(outcome_of(12, [](int64_t pass) { return 5 + 10 * pass; }), 2, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->passes, 1);
  EXPECT_EQ(found->ps, 10);
}

TEST(PassPeriod, FindsTheShortestOfSeveralPasses) {
  const auto begin = [](int64_t pass) { return 5 + 31 * (pass / 3) + 10 * (pass % 3); };
  const auto found = period_of(outcome_of(14, begin), 2, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->passes, 3);
  EXPECT_EQ(found->ps, 31);
}

TEST(PassPeriod, SeesPastABeginningThatIsOtherwise) {
  const auto begin = [](int64_t pass) { return pass < 4 ? 5 + 17 * pass - pass * pass : 50 + 10 * pass; };
  const auto found = period_of(outcome_of(14, begin), 2, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ps, 10);
}

TEST(PassPeriod, DoesNotTakeWhatTheLastPassDoesForARule) {
  // The tail begins early, and from then on all is quicker: the passes before are too few to tell.
  const auto begin = [](int64_t pass) { return pass < 3 ? 5 + 20 * pass : 10 * pass + 15; };
  EXPECT_FALSE(period_of(outcome_of(12, begin), 2, 10));
}

TEST(PassPeriod, FindsNoneWherePassesComeCloserAndCloser) {
  EXPECT_FALSE(period_of(outcome_of(12, [](int64_t pass) { return 5 + 100 * pass - pass * pass; }), 2, 1));
}

TEST(PassPeriod, FindsNoneWhereSomethingRunsAhead) {
  // Node 0 takes 10 ps a pass, node 1 takes 12: ever more passes are under way.
  Outcome outcome{.start_ps = {0}, .finish_ps = {5}};
  for (int64_t pass = 0; pass < 20; pass++) {
    for (const Picoseconds start : {5 + 10 * pass, 15 + 12 * pass}) outcome.start_ps.push_back(start);
    for (const Picoseconds finish : {15 + 10 * pass, 27 + 12 * pass}) outcome.finish_ps.push_back(finish);
  }
  EXPECT_FALSE(period_of(outcome, 2, 1));
}

TEST(PassPeriod, LooksAtNothingThatTakesNoTime) {
  Outcome outcome = outcome_of(12, [](int64_t pass) { return 5 + 10 * pass; });
  for (int64_t pass = 11; pass >= 0; pass--) {  // a third node of each pass, done as soon as all is launched
    outcome.start_ps.insert(outcome.start_ps.begin() + 3 + 2 * pass, 5);
    outcome.finish_ps.insert(outcome.finish_ps.begin() + 3 + 2 * pass, 5);
  }
  const auto found = period_of(outcome, 3, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ps, 10);
}

TEST(PassPeriod, DoesNotTrustWhatIsUnderWayFromTheBeginning) {
  // What is under way all the time, from before the rule began, may end at any moment.
  Outcome outcome = outcome_of(12, [](int64_t pass) { return pass == 0 ? 0 : 5 + 10 * pass; });
  outcome.finish_ps[2] = 1000;
  EXPECT_FALSE(period_of(outcome, 2, 1));
}

}  // namespace
}  // namespace hocket::simulator
