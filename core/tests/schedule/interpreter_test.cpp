#include "hocket/schedule/interpreter.hpp"

#include <gtest/gtest.h>

namespace hocket::schedule {
namespace {

/// Two ranks with `chunks` locations each (rank 0: 0.., rank 1: chunks..) that all must hold both contributions.
FlatProgram two_ranks(int32_t chunks) {
  FlatProgram program{2, 2, {}, {}, {}, {}, {}};
  for (int32_t rank = 0; rank < 2; rank++) {
    for (int32_t chunk = 0; chunk < chunks; chunk++) {
      program.wanted.push_back({static_cast<int64_t>(program.initial.size()), chunk, -1});
      program.location_rank.push_back(rank);
      program.initial.push_back(chunk);
    }
  }
  return program;
}

/// One block a rank that first sends all chunks in one step, then reduces all it gets. Connections: 0 -> 1, 1 -> 0.
FlatProgram head_to_head(int32_t chunks) {
  FlatProgram program = two_ranks(chunks);
  for (int32_t rank = 0; rank < 2; rank++) {
    const int64_t at = rank * chunks, first = std::ssize(program.steps);
    program.steps.push_back({StepType::kSend, chunks, at, 0, -1});
    program.steps.push_back({StepType::kReceiveReduceCopy, chunks, at, at, -1});
    program.blocks.push_back({rank, rank, 1 - rank, first, first + 2});
  }
  return program;
}

TEST(Interpreter, ProvesAnExchange) {
  const Execution execution = execute(head_to_head(1), 1, 1);
  EXPECT_EQ(execution.outcome, Outcome::kProved);
  EXPECT_EQ(execution.messages, 2);
}

TEST(Interpreter, SplitsStepsAndRunsOutOfSlots) {
  EXPECT_EQ(execute(head_to_head(3), 1, 3).outcome, Outcome::kProved);
  EXPECT_EQ(execute(head_to_head(3), 3, 1).outcome, Outcome::kProved);
  const Execution stuck = execute(head_to_head(3), 2, 1);
  EXPECT_EQ(stuck.outcome, Outcome::kDeadlock);
  // each block, in its send, waits for a slot until the other one, in its send as well, receives
  const auto slot = static_cast<int64_t>(Wait::kSlot);
  EXPECT_EQ(stuck.facts, (std::vector<int64_t>{0, slot, 1, 2, 2, slot, 0, 0}));
}

TEST(Interpreter, SeesOneContributionTwice) {
  FlatProgram program = head_to_head(1);
  program.steps[2].source = 0;  // rank 1 sends rank 0's own chunk back
  const Execution execution = execute(program, 1, 1);
  EXPECT_EQ(execution.outcome, Outcome::kWrongValue);
  EXPECT_EQ(execution.facts, (std::vector<int64_t>{0, 0, 0, 2}));
}

TEST(Interpreter, SeesUnorderedAccesses) {
  FlatProgram program = two_ranks(1);
  for (int32_t rank = 0; rank < 2; rank++) {
    const int64_t first = std::ssize(program.steps);
    program.steps.push_back({StepType::kSend, 1, rank, 0, -1});
    program.steps.push_back({StepType::kReceiveReduceCopy, 1, rank, rank, -1});
    program.blocks.push_back({rank, rank, -1, first, first + 1});
    program.blocks.push_back({rank, -1, 1 - rank, first + 1, first + 2});
  }
  EXPECT_EQ(execute(program, 1, 1).outcome, Outcome::kRace);
  program.steps[1].depends_on = 0;
  program.steps[3].depends_on = 2;
  EXPECT_EQ(execute(program, 1, 1).outcome, Outcome::kProved);
}

TEST(Interpreter, WaitsForEverForWhatIsNeverPublished) {
  FlatProgram program = head_to_head(1);
  program.steps[0].depends_on = kNeverPublished;
  const Execution stuck = execute(program, 1, 1);
  EXPECT_EQ(stuck.outcome, Outcome::kDeadlock);
  EXPECT_EQ(stuck.facts[1], static_cast<int64_t>(Wait::kDependency));
  EXPECT_EQ(stuck.facts[2], -1);
}

}  // namespace
}  // namespace hocket::schedule
