#include "hocket/schedule/spanning_trees.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace hocket::schedule {
namespace {

using Column = std::vector<int64_t>;

TEST(SpanningTrees, TakeTurnsAndUseALinkOnceAStep) {
  // A one-way ring of three: in each of two steps every tree adds one rank over the link that the others do not need.
  const Column src{0, 1, 2}, dst{1, 2, 0};
  const TreeEdges edges = grow_trees(3, src, dst);
  EXPECT_EQ(edges.step, (Column{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(edges.tree, (Column{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(edges.link, (Column{0, 1, 2, 1, 2, 0}));
}

TEST(SpanningTrees, WaitForALinkThatAnotherTreeUses) {
  // A line 0 - 1 - 2: tree 1 takes both links out of rank 1 in step 0, so trees 0 and 2 pass it one step after joining.
  const Column src{0, 1, 1, 2}, dst{1, 0, 2, 1};
  const TreeEdges edges = grow_trees(3, src, dst);
  std::set<std::pair<int64_t, int64_t>> used;
  for (size_t edge = 0; edge < edges.step.size(); edge++) {
    EXPECT_TRUE(used.emplace(edges.step[edge], edges.link[edge]).second);
  }
  EXPECT_EQ(edges.tree.size(), 3u * 2u);
  EXPECT_EQ(edges.step.back(), 1);
}

TEST(SpanningTrees, SpanWhatTheirRootsReach) {
  const Column src{0}, dst{1};
  EXPECT_EQ(grow_trees(2, src, dst).tree, (Column{0}));
  EXPECT_TRUE(grow_trees(1, {}, {}).tree.empty());
}

}  // namespace
}  // namespace hocket::schedule
