#include "hocket/chakra/threads.hpp"

#include <gtest/gtest.h>

#include "hocket/error.hpp"

namespace hocket::chakra {
namespace {

constexpr int64_t kNone = Activity::kNone;
constexpr int64_t kGap = ThreadNodes::kGap;

TEST(ChainThreads, ComputesBesideWhatIsNotYetWaitedFor) {
  // Call 0 from 0 to 5, waited for at once; call 1 issued at 10, waited for from 40 to 60; call 2 at 90.
  const std::vector<int64_t> start = {0, 10, 90}, thread(3), wait_begin = {0, 40, kNone}, wait_end = {5, 60, kNone};
  const std::vector<int64_t> marks = {0};
  const std::vector<int64_t> no_batch(start.size(), kNone);
  const ThreadNodes nodes = chain_threads({.start = start,
                                           .thread = thread,
                                           .wait_begin = wait_begin,
                                           .wait_end = wait_end,
                                           .wait_thread = thread,
                                           .batch = no_batch,
                                           .marks = marks,
                                           .end = 100});
  EXPECT_EQ(nodes.what, (decltype(nodes.what){0, kGap, 1, kGap, kGap, 2, kGap}));
  EXPECT_EQ(nodes.begin, (decltype(nodes.begin){0, 5, 10, 10, 60, 90, 90}));
  EXPECT_EQ(nodes.end, (decltype(nodes.end){0, 10, 10, 40, 90, 90, 100}));
  // Each after the one before, but node 3 (10 to 40) beside call 1, and node 4 after both.
  EXPECT_EQ(nodes.deps, (decltype(nodes.deps){0, 1, 1, 2, 3, 4, 4}));
  EXPECT_EQ(nodes.deps_offset, (decltype(nodes.deps_offset){0, 0, 1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(nodes.mark_nodes, (decltype(nodes.mark_nodes){0}));
}

TEST(ChainThreads, SpansAndGapsFillTheTimeOfTheirThread) {
  // Thread 5 from 8 on: spans 10 to 20, 20 to 22, 30 to 60; a call at 40 ends the third. Its rest is a gap, until 50.
  const std::vector<int64_t> start = {40}, thread = {5}, never = {kNone};
  const std::vector<int64_t> begin = {10, 20, 30}, end = {20, 22, 60}, of = {5, 5, 5}, marks = {8};
  const std::vector<int64_t> no_batch(start.size(), kNone);
  const ThreadNodes nodes = chain_threads({.start = start,
                                           .thread = thread,
                                           .wait_begin = never,
                                           .wait_end = never,
                                           .wait_thread = never,
                                           .batch = no_batch,
                                           .marks = marks,
                                           .span_begin = begin,
                                           .span_end = end,
                                           .span_thread = of,
                                           .main = 5,
                                           .end = 50});
  EXPECT_EQ(nodes.what, (decltype(nodes.what){kGap, -2, -3, kGap, -4, 0, kGap}));
  EXPECT_EQ(nodes.begin, (decltype(nodes.begin){8, 10, 20, 22, 30, 40, 40}));
  EXPECT_EQ(nodes.end, (decltype(nodes.end){10, 20, 22, 30, 40, 40, 50}));
}

TEST(ChainThreads, CutsComputationAtMarksOfThreadsThatGoOn) {
  // Thread 0 issues at 1 and 30, thread 1 at 2: at the mark 20 only thread 0 is cut.
  const std::vector<int64_t> start = {1, 2, 30}, thread = {0, 1, 0}, never(3, kNone), marks = {0, 20};
  const std::vector<int64_t> no_batch(start.size(), kNone);
  const ThreadNodes nodes = chain_threads({.start = start,
                                           .thread = thread,
                                           .wait_begin = never,
                                           .wait_end = never,
                                           .wait_thread = never,
                                           .batch = no_batch,
                                           .marks = marks,
                                           .end = 30});
  EXPECT_EQ(nodes.what, (decltype(nodes.what){kGap, 0, kGap, 1, kGap, kGap, 2}));
  EXPECT_EQ(nodes.begin, (decltype(nodes.begin){0, 1, 0, 2, 1, 20, 30}));
  EXPECT_EQ(nodes.mark_nodes, (decltype(nodes.mark_nodes){0, 5}));
}

TEST(ChainThreads, IssuesABatchAtOnce) {
  // Calls 0 and 1 are one batch, issued at 1 and 2; call 2 is alone at 3: computation comes before 0 and 2.
  const std::vector<int64_t> start = {1, 2, 3}, thread(3), never(3, kNone), batch = {7, 7, kNone}, marks = {0};
  const ThreadNodes nodes = chain_threads({.start = start,
                                           .thread = thread,
                                           .wait_begin = never,
                                           .wait_end = never,
                                           .wait_thread = never,
                                           .batch = batch,
                                           .marks = marks,
                                           .end = 3});
  EXPECT_EQ(nodes.what, (decltype(nodes.what){kGap, 0, 1, kGap, 2}));
  EXPECT_EQ(nodes.deps, (decltype(nodes.deps){0, 0, 0, 3}));
}

TEST(ChainThreads, RefusesColumnsThatDoNotFit) {
  const std::vector<int64_t> one = {1};
  EXPECT_THROW(chain_threads({.start = one, .marks = one}), TraceError);
  EXPECT_THROW(chain_threads({}), TraceError);
}

}  // namespace
}  // namespace hocket::chakra
