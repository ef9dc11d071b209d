#include "hocket/schedule/dependencies.hpp"

#include <gtest/gtest.h>

#include <array>

#include "hocket/error.hpp"

namespace hocket::schedule {
namespace {

using topology::Graph;

/// A chunk that rank 0 and rank 2 add into rank 1 (ids 0, 1), and that rank 1 then sends twice (ids 2, 3).
struct Example {
  Graph graph{3, 3, {{0, 1, 0, 1}, {2, 1, 0, 1}, {1, 2, 0, 1}, {1, 0, 0, 1}}};
  std::vector<int64_t> route_offset{0, 1, 2, 3, 4};
  std::vector<int32_t> route_links{0, 1, 2, 3};
  std::vector<int32_t> chunk{0, 0, 0, 0};
  std::vector<int32_t> route{0, 1, 2, 3};
  std::array<bool, 4> reduce{true, true, false, false};
  std::vector<Picoseconds> start{0, 0, 1, 2};
  std::vector<Picoseconds> finish{1, 1, 2, 3};

  Transfers transfers() const { return {&graph, route_offset, route_links, chunk, route, reduce, start, finish, 1}; }
};

TEST(Gates, OneForTheStateThatTwoTransfersSend) {
  const Example example;
  const Gates gates = find_gates(example.transfers());
  EXPECT_EQ(gates.waits, (std::vector<int32_t>{-1, -1, 0, 0}));
  EXPECT_EQ(gates.feeds, (std::vector<int32_t>{0, 0, -1, -1}));
  EXPECT_EQ(gates.previous, std::vector<int32_t>{-1});
}

TEST(Gates, ALaterStateStandsOnTheOneBefore) {
  Example example;
  example.start = {0, 1, 1, 3};  // rank 1 first sends what rank 0 gave it, then both
  example.finish = {1, 2, 2, 4};
  const Gates gates = find_gates(example.transfers());
  EXPECT_EQ(gates.waits, (std::vector<int32_t>{-1, -1, 0, 1}));
  EXPECT_EQ(gates.feeds, (std::vector<int32_t>{0, 1, -1, -1}));
  EXPECT_EQ(gates.previous, (std::vector<int32_t>{-1, 0}));
  EXPECT_EQ(find_dependencies(example.transfers()).ids, (std::vector<int32_t>{0, 0, 1}));
}

TEST(Gates, WhatIsASourcesOwnWaitsForNone) {
  const Example example;
  const std::array<bool, 4> own{false, false, false, true};
  Transfers transfers = example.transfers();
  transfers.own = own;
  const Gates gates = find_gates(transfers);
  EXPECT_EQ(gates.waits, (std::vector<int32_t>{-1, -1, 0, -1}));
  EXPECT_EQ(gates.feeds, (std::vector<int32_t>{0, 0, -1, -1}));
}

TEST(Check, FindsIndicesThatLeadNowhere) {
  Example example;
  EXPECT_NO_THROW(check(example.transfers()));
  example.route_links[3] = 4;
  EXPECT_THROW(check(example.transfers()), ScheduleError);
  example.route_links[3] = 3;
  example.route_offset = {0, 1, 2, 3, 9};
  EXPECT_THROW(check(example.transfers()), ScheduleError);
}

}  // namespace
}  // namespace hocket::schedule
