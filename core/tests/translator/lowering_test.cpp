#include "hocket/translator/lowering.hpp"

#include <gtest/gtest.h>

#include "hocket/error.hpp"

namespace hocket::translator {
namespace {

std::vector<int64_t> dependencies(const Lowering& lowering, int64_t operation) {
  return {lowering.dependencies.begin() + lowering.first_dependency[operation],
          lowering.dependencies.begin() + lowering.first_dependency[operation + 1]};
}

constexpr int64_t kAll = 1000;  // entries of clocks: more than any of these takes

// Columns: block, rank, count, reads, writes, message, after, priority.
TEST(Lowering, KeepsOnlyWhatNothingElseOrders) {
  // rank 0 sends location 0 (block 0) to rank 1, which reduces it (block 1) and sends it back (block 2) to rank 0's
  // block 3: that write after read is ordered by the messages, the send after the reduction is not.
  const std::vector<Operation> operations = {
      {0, 0, 1, 0, -1, -1, -1, 0},
      {1, 1, 1, 100, 100, 0, -1, 1},
      {2, 1, 1, 100, -1, -1, -1, 2},
      {3, 0, 1, -1, 0, 2, -1, 3},
  };
  const Lowering lowering = lower(operations, 2, 4, kAll);
  EXPECT_EQ(lowering.order, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(dependencies(lowering, 2), std::vector<int64_t>{1});
  EXPECT_TRUE(dependencies(lowering, 3).empty());
  EXPECT_EQ(dependencies(lower(operations, 2, 4, 0), 3), std::vector<int64_t>{0});  // messages are not followed
}

TEST(Lowering, WaitsForTheLastOfABlockOnly) {
  // two reads of location 0 in block 0, then a write in block 1: it waits for the second read alone
  const std::vector<Operation> operations = {
      {0, 0, 1, 0, -1, -1, -1, 0},
      {0, 0, 1, 0, -1, -1, -1, 1},
      {1, 0, 1, -1, 0, -1, -1, 2},
  };
  EXPECT_EQ(dependencies(lower(operations, 1, 2, kAll), 2), std::vector<int64_t>{1});
}

TEST(Lowering, RefusesWhatNeedsSeveralMessagesUnderWay) {
  // the send must come after a receive (of the message before it on its connection) that overwrites what it reads
  const std::vector<Operation> operations = {
      {0, 0, 1, 0, -1, -1, 1, 0},
      {1, 0, 1, -1, 0, -1, -1, 1},
  };
  EXPECT_THROW(lower(operations, 1, 2, kAll), ScheduleError);
}

}  // namespace
}  // namespace hocket::translator
