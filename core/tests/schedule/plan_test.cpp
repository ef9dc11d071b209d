#include "hocket/schedule/plan/plan.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "hocket/error.hpp"

namespace hocket::schedule::plan {
namespace {

/// Two ranks that exchange their chunks over memory channels: location 2 r is rank r's own chunk, 2 r + 1 the other's.
/// Each says that its call has begun, waits for the other's word, puts, signals and waits for the signal.
class Exchange {
 public:
  Exchange() {
    program.num_ranks = program.num_chunks = 2;
    program.ends = {{1, false}, {0, false}};
    for (int32_t rank = 0; rank < 2; rank++) {
      for (const bool own : {true, false}) {
        program.location_rank.push_back(rank);
        program.initial.push_back(own ? rank : 1 - rank);
        program.callers.push_back(1);
        program.wanted.push_back({2 * rank + (own ? 0 : 1), own ? rank : 1 - rank, own ? rank : 1 - rank});
      }
    }
  }

  /// Adds a block of a rank that does these steps; a move goes from its own chunk to its place at the other rank.
  void block(int32_t rank, const std::vector<StepKind>& kinds, bool relaxed_signal = false) {
    const auto first = static_cast<int64_t>(program.steps.size());
    bool begun = false;  // the first signal and the first wait are about the call
    bool waited = false;
    for (const StepKind kind : kinds) {
      const auto operand = static_cast<int64_t>(program.operands.size());
      Step step{kind, false, false, false, rank, 0, operand, operand, operand};
      if (kind == StepKind::kMove) {
        program.operands.push_back({2 * rank, 0, false});
        program.operands.push_back({2 * (1 - rank) + 1, 0, false});
        step = {kind, false, false, false, -1, 1, operand, operand + 1, operand + 2};
      }
      if (kind == StepKind::kSignal) step.relaxed = std::exchange(begun, true) ? relaxed_signal : true;
      if (kind == StepKind::kWait) step.relaxed = !std::exchange(waited, true);
      program.steps.push_back(step);
    }
    program.blocks.push_back({rank, first, static_cast<int64_t>(program.steps.size())});
  }

  Program program;
};

constexpr StepKind kSync = StepKind::kSync, kSignal = StepKind::kSignal, kWait = StepKind::kWait,
                   kMove = StepKind::kMove;
const std::vector<StepKind> kRight = {kSignal, kWait, kSync, kMove, kSync, kSignal, kWait};

Execution of_both(const std::vector<StepKind>& kinds, const std::vector<StepKind>& other, bool relaxed = false) {
  Exchange exchange;
  exchange.block(0, kinds, relaxed);
  exchange.block(1, other, relaxed);
  return execute(exchange.program, 2);
}

TEST(Plan, ProvesAnExchange) {
  const Execution execution = of_both(kRight, kRight);
  EXPECT_EQ(execution.outcome, Outcome::kProved);
  EXPECT_TRUE(execution.facts.empty());
  EXPECT_TRUE(execution.weak.empty());
}

TEST(Plan, NamesWhatRelaxedSignalsDoNotShow) {
  const Execution execution = of_both(kRight, kRight, true);
  EXPECT_EQ(execution.outcome, Outcome::kProved);
  EXPECT_EQ(execution.weak.size(), 3u);
}

TEST(Plan, FindsAMissingMeeting) {
  // without it the signal may come before the put
  const Execution execution = of_both({kSignal, kWait, kSync, kMove, kSignal, kWait}, kRight);
  EXPECT_EQ(execution.outcome, Outcome::kRace);
}

TEST(Plan, FindsAPutBeforeTheOtherCallHasBegun) {
  const std::vector<StepKind> hasty = {kMove, kSync, kSignal, kWait};
  EXPECT_EQ(of_both(hasty, hasty).outcome, Outcome::kRace);
}

TEST(Plan, FindsWhoNeverSignals) {
  const Execution execution = of_both({kSignal, kWait, kSync, kMove, kSync, kWait}, kRight);
  EXPECT_EQ(execution.outcome, Outcome::kDeadlock);
  EXPECT_EQ(execution.facts.size() % 5, 0u);
  EXPECT_FALSE(execution.facts.empty());
}

TEST(Plan, FindsAValueThatIsNotThere) {
  Exchange exchange;
  exchange.block(0, kRight);
  exchange.block(1, {kSignal, kWait, kSync, kSignal, kWait});
  exchange.program.initial = {0, -1, 1, -1};  // nobody's: what is received is the only way
  const Execution execution = execute(exchange.program, 2);
  EXPECT_EQ(execution.outcome, Outcome::kWrongValue);
  EXPECT_EQ(execution.facts, (std::vector<int64_t>{1, 0}));  // rank 0's second location, in the first call: undefined
}

TEST(Plan, CountsSemaphoresBetweenCalls) {
  Exchange exchange;
  exchange.program.semaphore = {0};
  exchange.block(0, kRight);
  exchange.block(1, kRight);
  exchange.program.steps.push_back({StepKind::kRelease, false, false, false, 0, 0, 4, 4, 4});
  exchange.program.blocks.push_back({0, 14, 15});
  const Execution execution = execute(exchange.program, 2);
  EXPECT_EQ(execution.outcome, Outcome::kUnmatched);
  EXPECT_EQ(execution.facts, (std::vector<int64_t>{1, 0, 2, 0}));
}

TEST(Plan, EndsWhenAPollThrows) {
  // 2000 steps a launch: more than the 1024 turns between two polls
  Program program{};
  program.num_ranks = 1;
  for (int32_t block = 0; block < 2000; block++) program.blocks.push_back({0, block, block + 1});
  program.steps.assign(2000, {StepKind::kSync, false, false, false, 0, 0, 0, 0, 0});
  EXPECT_EQ(execute(program, 1).outcome, Outcome::kProved);
  EXPECT_THROW(execute(program, 1, [] { throw Stopped("enough"); }), Stopped);
}

TEST(Plan, TakesAPlanOfNothing) {
  Program program{};
  program.num_ranks = 1;
  EXPECT_EQ(execute(program, 1).outcome, Outcome::kProved);
}

}  // namespace
}  // namespace hocket::schedule::plan
