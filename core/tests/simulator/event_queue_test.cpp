#include "../../src/simulator/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../src/simulator/dense_event_queue.hpp"
#include "hocket/splitmix.hpp"

namespace hocket::simulator {
namespace {

uint64_t next_random(uint64_t& state) {
  const uint64_t number = splitmix64(state);
  state += kSplitMixStep;
  return number;
}

template <class Queue>
class Queues : public testing::Test {};
using AllQueues = testing::Types<EventQueue, DenseEventQueue>;
TYPED_TEST_SUITE(Queues, AllQueues);

TYPED_TEST(Queues, PopsInTimeOrder) {
  TypeParam queue;
  for (const Picoseconds time : {30, 10, 20}) queue.push({time, 0, 0});
  EXPECT_EQ(queue.pop().time, 10);
  EXPECT_EQ(queue.pop().time, 20);
  EXPECT_EQ(queue.pop().time, 30);
  EXPECT_TRUE(queue.empty());
}

TYPED_TEST(Queues, EqualTimesAreFirstInFirstOut) {
  TypeParam queue;
  for (uint32_t id = 0; id < 5; id++) queue.push({1'000'000, 0, id});
  EXPECT_EQ(queue.pop().id, 0u);
  queue.push({1'000'000, 0, 5});  // now, while this instant is being worked on: behind those that wait
  for (uint32_t id = 1; id <= 5; id++) EXPECT_EQ(queue.pop().id, id);
  EXPECT_TRUE(queue.empty());
}

TYPED_TEST(Queues, AgreesWithAStableSortWhileTimeAdvances) {
  uint64_t state = 7;
  TypeParam queue;
  std::vector<Event> waiting;
  uint32_t pushed = 0;
  Picoseconds now = 0;
  for (int round = 0; round < 20'000; round++) {
    if (waiting.empty() || next_random(state) % 5 < 3) {
      const Event event{now + static_cast<Picoseconds>(next_random(state) % (round % 7 == 0 ? 1'000'000'000 : 4)), 0,
                        pushed++};
      queue.push(event);
      waiting.push_back(event);
      continue;
    }
    const auto first = std::min_element(waiting.begin(), waiting.end(), [](const Event& a, const Event& b) {
      return a.time != b.time ? a.time < b.time : a.id < b.id;
    });
    const Event popped = queue.pop();
    ASSERT_EQ(popped.time, first->time);
    ASSERT_EQ(popped.id, first->id);
    now = popped.time;
    waiting.erase(first);
  }
}

// More at one place than are sorted, near and far, with later ones among them.
TEST(DenseEventQueue, KeepsTheOrderOfCrowds) {
  uint64_t state = 3;
  DenseEventQueue queue;
  std::vector<Event> expected;
  for (uint32_t id = 0; id < 3'000; id++) {
    expected.push_back({static_cast<Picoseconds>(1'000'000 + next_random(state) % (id % 2 == 0 ? 60'000 : 90)), 0, id});
    queue.push(expected.back());
  }
  std::ranges::stable_sort(expected, {}, &Event::time);
  uint32_t pushed = 3'000;
  for (size_t at = 0; at < expected.size(); at++) {
    const Event popped = queue.pop();
    ASSERT_EQ(popped.time, expected[at].time);
    ASSERT_EQ(popped.id, expected[at].id);
    for (int more = 0; at == 5 && more < 600; more++) {
      const Event later{popped.time + static_cast<Picoseconds>(next_random(state) % 200), 0, pushed++};
      queue.push(later);
      expected.insert(std::ranges::upper_bound(expected, later.time, {}, &Event::time), later);
    }
  }
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace hocket::simulator
