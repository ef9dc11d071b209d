#include <gtest/gtest.h>

#include <vector>

#include "hocket/error.hpp"
#include "hocket/simulator/astra/simulate.hpp"

namespace hocket::simulator::astra {
namespace {

constexpr RemoteMemory kNoMemory{MemoryKind::kNone, 0, 0, 0};

/// One collective on all ranks.
class Collective {
 public:
  Collective(int32_t ranks, Kind kind, int64_t bytes)
      : action_(ranks, static_cast<uint8_t>(Action::kCollective)),
        resource_(ranks, static_cast<uint8_t>(Resource::kNetwork)),
        kind_(ranks, static_cast<uint8_t>(kind)),
        bytes_(ranks, bytes),
        zeros_(ranks, 0),
        none_(ranks, -1),
        dimensions_(ranks, 15),
        offset_(ranks + 1, 0) {
    for (int32_t rank = 0; rank <= ranks; rank++) rank_offset_.push_back(rank);
  }

  Program program() const {
    return Program(Columns{rank_offset_,
                           action_,
                           resource_,
                           kind_,
                           zeros_,
                           bytes_,
                           zeros_,
                           zeros_,
                           zeros_,
                           zeros_,
                           none_,
                           none_,
                           none_,
                           dimensions_,
                           offset_,
                           {}});
  }

 private:
  std::vector<int64_t> rank_offset_;
  std::vector<uint8_t> action_, resource_, kind_;
  std::vector<int64_t> bytes_, zeros_;
  std::vector<int32_t> none_;
  std::vector<uint32_t> dimensions_;
  std::vector<int64_t> offset_;
};

System system_of(Algorithm algorithm) {
  System system{};
  system.policy = Policy::kFifo;
  system.splits = 1;
  system.active_chunks = 1;
  system.queues_per_dimension = 1;
  system.endpoint_delay = 10;
  for (auto& kind : system.implementations) kind = {{algorithm, -1, false}};
  return system;
}

Outcome run(const std::vector<Dimension>& dimensions, const System& system, const Program& program) {
  return simulate(dimensions, system, kNoMemory, {}, program, {});
}

TEST(AstraSimulate, RingAllReduceTakesItsSteps) {
  const Collective collective(4, Kind::kAllReduce, 4000);
  const std::vector<Dimension> ring{{Shape::kRing, 4, 1.0, 500.0}};
  // 6 steps of 500 + 1000 + 10, after 10; no local bandwidth: reductions take no time.
  for (const bool congestion : {false, true}) {
    System system = system_of(Algorithm::kRing);
    system.congestion = congestion;
    const Outcome outcome = run(ring, system, collective.program());
    EXPECT_EQ(outcome.finish_ns, std::vector<Nanoseconds>(4, 10 + 6 * 1510));
    EXPECT_EQ(outcome.messages, 24);
    EXPECT_EQ(outcome.byte_hops, std::vector<double>{24 * 1000.0});
    EXPECT_TRUE(outcome.waiting.empty());
  }
}

TEST(AstraSimulate, TreeRunsUpAndDownOnce) {
  const Collective collective(2, Kind::kAllReduce, 1000);
  const std::vector<Dimension> ring{{Shape::kRing, 2, 1.0, 500.0}};
  // The leaf: 10, sends for 1500. The root: 10, sends back for 1500, done when it has sent. The leaf: 10.
  const Outcome outcome = run(ring, system_of(Algorithm::kDoubleBinaryTree), collective.program());
  EXPECT_EQ(outcome.finish_ns, (std::vector<Nanoseconds>{10 + 1500 + 10 + 1500 + 10, 10 + 1500 + 10}));
}

TEST(AstraSimulate, RanksThatDisagreeWaitForever) {
  const Collective four(4, Kind::kAllReduce, 4000);
  const std::vector<Dimension> ring{{Shape::kRing, 4, 1.0, 500.0}};
  Program program = four.program();
  const std::vector<int64_t> sizes{4000, 4000, 4000, 8000};
  program.bytes = sizes;
  const Outcome outcome = run(ring, system_of(Algorithm::kRing), program);
  EXPECT_EQ(outcome.finish_ns, std::vector<Nanoseconds>(4, -1));
  EXPECT_EQ(outcome.waiting.size(), 4u);
}

TEST(AstraSimulate, ConvoysComeToTheSame) {
  const Collective collective(4, Kind::kAllReduce, 4000);
  const std::vector<Dimension> ring{{Shape::kRing, 4, 1.0, 500.0}};
  for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kDirect, Algorithm::kHalvingDoubling}) {
    const System system = system_of(algorithm);
    const Outcome expected = run(ring, system, collective.program());
    const auto outcome = simulate_in_convoys(ring, system, kNoMemory, {}, collective.program());
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->finish_ns, expected.finish_ns);
    EXPECT_EQ(outcome->messages, expected.messages);
    EXPECT_EQ(outcome->byte_hops, expected.byte_hops);
    EXPECT_EQ(outcome->events, 4);
  }
  const System tree = system_of(Algorithm::kDoubleBinaryTree);
  EXPECT_FALSE(simulate_in_convoys(ring, tree, kNoMemory, {}, collective.program()));
}

TEST(AstraSimulate, RefusesTimesOutOfRange) {
  const Collective collective(4, Kind::kAllReduce, int64_t{1} << 50);
  const std::vector<Dimension> ring{{Shape::kRing, 4, 1e-9, 500.0}};
  EXPECT_THROW(run(ring, system_of(Algorithm::kRing), collective.program()), SimulationError);
}

TEST(AstraProgram, RefusesColumnsThatDisagree) {
  const Collective two(2, Kind::kAllReduce, 1);
  Columns columns = two.program();
  columns.bytes = columns.bytes.first(1);
  EXPECT_THROW(Program{columns}, TraceError);
}

}  // namespace
}  // namespace hocket::simulator::astra
