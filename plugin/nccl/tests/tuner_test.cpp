#include <sys/wait.h>

#include <cstring>
#include <thread>

#include "allocations.hpp"
#include "tuner_harness.hpp"

namespace hocket::nccl::testing {
namespace {

constexpr Taken kOwn{kTree, kLl, 0};  // What NCCL takes from `Costs` by itself.

class EveryTuner : public TunerTest {
 protected:
  /// NCCL's calls for one communicator of 16 ranks on 2 nodes, with so many algorithms in its table.
  template <class Table>
  void play(const char* symbol, int algorithms) {
    write(
        "allreduce,0,1024,ring,ll128,4,2,16\n"
        "allreduce,1025,-1,pat,simple,-1,-1,-1\n"
        "allreduce,1025,-1,nvls_tree,simple,16,2..4,-1,2..\n"
        "reduce,0,-1,ring,simple,8,1,-1\n");
    const Table& table = library_.table<Table>(symbol);
    EXPECT_STREQ(table.name, "hocket");
    Tuner<Table> tuner(table);
    ASSERT_EQ(tuner.init(16, 2), kSuccess);
    Costs costs(algorithms);
    costs.at(kPat, kSimple) = -1;
    EXPECT_EQ(tuner.ask({.bytes = 1024}, costs), (Taken{kRing, kLl128, 4}));
    EXPECT_EQ(tuner.ask({.bytes = 1025}, costs), kOwn);
    EXPECT_EQ(tuner.ask({.bytes = 1025, .pipe_operations = 2}, costs), (Taken{kNvlsTree, kSimple, 16}));
    EXPECT_EQ(tuner.ask({.function = kReduce, .bytes = 8}, costs), kOwn);
    for (const int unknown : {-1, 5, 8, 1 << 20}) EXPECT_EQ(tuner.ask({.function = unknown, .bytes = 8}), kOwn);
    tuner.finalize();
    // Who it is, and once that there is no PAT: by its mark, or because the table ends before it.
    ASSERT_EQ(tuner_said.size(), 2u);
    EXPECT_NE(tuner_said[0].find("4 rules, 0 constants, checksum"), std::string::npos);
    EXPECT_NE(tuner_said[1].find(":2: NCCL does not offer pat with simple for this allreduce"), std::string::npos);
  }
};

TEST_F(EveryTuner, ThreeWithoutPat) { play<Tuner3>("ncclTunerPlugin_v3", 6); }
TEST_F(EveryTuner, Three) { play<Tuner3>("ncclTunerPlugin_v3", 7); }
TEST_F(EveryTuner, Four) { play<Tuner4>("ncclTunerPlugin_v4", 7); }
TEST_F(EveryTuner, Five) { play<Tuner5>("ncclTunerPlugin_v5", 7); }
TEST_F(EveryTuner, Six) { play<Tuner6>("ncclTunerPlugin_v6", 7); }

TEST_F(TunerTest, EntriesThatAreNotAvailableStaySo) {
  write("allreduce,0,-1,nvls,simple,-1,-1,-1\nallreduce,0,-1,-1,ll128,-1,-1,-1\n");
  auto tuner = six();
  ASSERT_EQ(tuner.init(8, 1), kSuccess);
  Costs costs;
  for (const int protocol : {kLl, kLl128, kSimple}) costs.at(kNvls, protocol) = costs.at(kTree, protocol) = -1;
  const Costs before = costs;
  int channels = 0;
  const Tuner6& table = library_.table<Tuner6>("ncclTunerPlugin_v6");
  void* context = nullptr;
  ASSERT_EQ(table.init(&context, 1, 8, 1, tuner_log, nullptr, nullptr), kSuccess);
  table.get_collective(context, kAllReduce, 8, 1, reinterpret_cast<float**>(costs.table.data()), kAlgorithms,
                       kProtocols, 0, &channels);
  EXPECT_EQ(channels, 0);
  EXPECT_EQ(costs.at(kRing, kLl128), 0);
  costs.at(kRing, kLl128) = before.table[int{kRing} * kProtocols + kLl128];
  EXPECT_EQ(costs.table, before.table);
  table.finalize(context);
  tuner.finalize();
}

TEST_F(TunerTest, WhatIsMissingIsSaidOnceForAllCommunicators) {
  write("allreduce,0,-1,nvls,simple,-1,-1,-1\n");
  Costs costs;
  costs.at(kNvls, kSimple) = -1;
  for (int communicator = 0; communicator < 3; ++communicator) {
    auto tuner = six();
    ASSERT_EQ(tuner.init(8, 1), kSuccess);
    for (int call = 0; call < 4; ++call) EXPECT_EQ(tuner.ask({.bytes = 8}, costs), kOwn);
    tuner.finalize();
  }
  EXPECT_EQ(tuner_said.size(), 2u);
}

TEST_F(TunerTest, DomainsCountWhereNcclTellsThem) {
  write("collective_type,algorithm,protocol,nNvlDomains,minRanksPerNvlDomain\nallreduce,ring,simple,2,8..\n");
  auto unknown = six(), two = six(), four = six();
  ASSERT_EQ(unknown.init(16, 2), kSuccess);
  ASSERT_EQ(two.init(16, 2, DomainInfo{2, 8, 8}), kSuccess);
  ASSERT_EQ(four.init(16, 2, DomainInfo{4, 4, 4}), kSuccess);
  EXPECT_EQ(unknown.ask({.bytes = 8}), kOwn);
  EXPECT_EQ(two.ask({.bytes = 8}), (Taken{kRing, kSimple, 0}));
  EXPECT_EQ(four.ask({.bytes = 8}), kOwn);
  for (auto* tuner : {&unknown, &two, &four}) tuner->finalize();
}

TEST_F(TunerTest, RulesOnRegistrationDoNotCountWhereNcclDoesNotTell) {
  write("allreduce,0,-1,ring,simple,-1,-1,-1,-1,0\n");
  Tuner<Tuner3> three(library_.table<Tuner3>("ncclTunerPlugin_v3"));
  Tuner<Tuner4> four(library_.table<Tuner4>("ncclTunerPlugin_v4"));
  ASSERT_EQ(three.init(8, 1), kSuccess);
  ASSERT_EQ(four.init(8, 1), kSuccess);
  EXPECT_EQ(three.ask({.bytes = 8}), kOwn);
  EXPECT_EQ(four.ask({.bytes = 8}), (Taken{kRing, kSimple, 0}));
  EXPECT_EQ(four.ask({.bytes = 8, .registered = 1}), kOwn);
  three.finalize();
  four.finalize();
}

TEST_F(TunerTest, ChunksComeFromTheRuleThatWasTaken) {
  write("collective_type,max_bytes,algorithm,protocol,chunk_bytes\nallreduce,1MiB,tree,simple,128KiB\n");
  auto tuner = six();
  ASSERT_EQ(tuner.init(16, 2), kSuccess);
  EXPECT_EQ(tuner.chunk({.bytes = 1 << 20}, kTree, kSimple, 524288), 131072u);
  EXPECT_EQ(tuner.chunk({.bytes = 1 << 20}, kRing, kSimple, 524288), 524288u);
  EXPECT_EQ(tuner.chunk({.bytes = 1 << 21}, kTree, kSimple, 524288), 524288u);
  EXPECT_EQ(tuner.chunk({.function = 7, .bytes = 8}, kTree, kSimple, 77), 77u);
  tuner.finalize();
}

TEST_F(TunerTest, ConstantsAreRewrittenAndNoOthers) {
  write(
      "constant,hwLatencies,net,tree,simple,12.5,2..\nconstant,perChMaxNVLSTreeBws,blackwell,4nodes,77\n"
      "constant,baseLatencies,ring,ll,1,1\n");
  auto tuner = six();
  Constants constants;
  ASSERT_EQ(tuner.init(16, 2, {}, &constants), kSuccess);
  Constants expected;
  expected.step_latency[kNetHardware][kTree][kSimple] = 12.5;
  expected.most_nvls_tree[3][2] = 77;
  EXPECT_EQ(std::memcmp(&constants, &expected, sizeof constants), 0);
  EXPECT_EQ(tuner.ask({.bytes = 8}), kOwn);  // No rules: no context.
  tuner.finalize();
  Tuner<Tuner4> old(library_.table<Tuner4>("ncclTunerPlugin_v4"));
  ASSERT_EQ(old.init(16, 2), kSuccess);
  EXPECT_NE(tuner_said.back().find("takes no constants"), std::string::npos);
}

/// However bad the table, NCCL goes on as without it, and the reason is said once.
class BadTable : public TunerTest {
 protected:
  void expect(const std::string& reason) {
    Constants constants;
    for (int communicator = 0; communicator < 2; ++communicator) {
      auto tuner = six();
      EXPECT_EQ(tuner.init(8, 1, DomainInfo{1, 8, 8}, &constants), kSuccess);
      EXPECT_EQ(tuner.ask({.bytes = 8}), kOwn);
      EXPECT_EQ(tuner.chunk({.bytes = 8}, kRing, kLl, 4096), 4096u);
      tuner.finalize();
      // Repaired meanwhile: other ranks may have read it before, so it stays off.
      write("allreduce,0,-1,ring,simple,-1,-1,-1\n");
    }
    const Constants own;
    EXPECT_EQ(std::memcmp(&constants, &own, sizeof own), 0);
    ASSERT_EQ(tuner_said.size(), 1u);
    EXPECT_NE(tuner_said[0].find(reason), std::string::npos) << tuner_said[0];
  }
};

TEST_F(BadTable, Absent) { expect("WARN hocket: the tuner does nothing: " + path_.string() + ": No such file"); }
TEST_F(BadTable, Folder) {
  setenv("HOCKET_NCCL_TUNER_TABLE", "/tmp", 1);
  expect("/tmp: not a file");
}
TEST_F(BadTable, Endless) {
  setenv("HOCKET_NCCL_TUNER_TABLE", "/dev/zero", 1);
  expect("/dev/zero: not a file");
}
TEST_F(BadTable, UnknownName) {
  write("constant,baseLatencies,ring,ll,1\nallreduce,0,-1,rign,simple,-1,-1,-1\nx\ny\n");
  expect(path_.string() + ":2: unknown algorithm 'rign'; did you mean ring? (known:");
  EXPECT_NE(tuner_said[0].find("(and 2 lines more)"), std::string::npos);
}
TEST_F(BadTable, NotSet) {
  unsetenv("HOCKET_NCCL_TUNER_TABLE");
  expect("INFO hocket: the tuner does nothing: HOCKET_NCCL_TUNER_TABLE is not set");
}

TEST_F(TunerTest, NvidiasVariableIsSecondChoice) {
  write("allreduce,0,4294967295,ring,simple,2,-1,-1\n");
  setenv("NCCL_TUNER_CONFIG_FILE", path_.c_str(), 1);
  unsetenv("HOCKET_NCCL_TUNER_TABLE");
  auto tuner = six();
  ASSERT_EQ(tuner.init(8, 1), kSuccess);
  EXPECT_EQ(tuner.ask({.bytes = size_t{1} << 40}), (Taken{kRing, kSimple, 2}));
  tuner.finalize();
}

TEST_F(TunerTest, AFileThatChangesCountsInNoLaterCommunicator) {
  write("allreduce,0,-1,ring,simple,-1,-1,-1\n");
  auto first = six(), second = six();
  ASSERT_EQ(first.init(8, 1), kSuccess);
  write("garbage\n");
  ASSERT_EQ(second.init(8, 1), kSuccess);
  first.finalize();
  EXPECT_EQ(second.ask({.bytes = 8}), (Taken{kRing, kSimple, 0}));
  second.finalize();
}

TEST_F(TunerTest, WithoutALoggerItSaysNothing) {
  write("allreduce,0,-1,nvls,simple,-1,-1,-1\n");
  auto tuner = six();
  ASSERT_EQ(tuner.init(8, 1, {}, nullptr, nullptr), kSuccess);
  Costs costs;
  costs.at(kNvls, kSimple) = -1;
  EXPECT_EQ(tuner.ask({.bytes = 8}, costs), kOwn);
  tuner.finalize();
}

TEST_F(TunerTest, AsksAllocateNothing) {
  write("allreduce,0,1KiB,nvls,simple,-1,-1,-1\nallreduce,0,-1,-1,simple,4,-1,-1\n");
  auto tuner = six();
  ASSERT_EQ(tuner.init(8, 1), kSuccess);
  const AllocationCount allocations;
  for (size_t bytes = 1; bytes < 1 << 20; bytes *= 2) {
    EXPECT_EQ(tuner.ask({.bytes = bytes}).channels, bytes > 1024 ? 4 : 0);
    EXPECT_EQ(tuner.chunk({.bytes = bytes}, kRing, kSimple, 1 << 19), 1u << 19);
  }
  EXPECT_EQ(allocations.count(), 0u);
  tuner.finalize();
}

TEST_F(TunerTest, CommunicatorsOfSeveralThreadsAskAtOnce) {
  write(
      "allreduce,0,-1,ring,simple,2,1,-1\nallreduce,0,-1,nvls,simple,-1,2,-1\n"
      "allreduce,0,-1,tree,simple,4,2,-1\n");
  std::vector<std::thread> threads;
  for (size_t nodes = 1; nodes <= 4; ++nodes) {
    threads.emplace_back([this, nodes] {
      const Taken expected[] = {{kRing, kSimple, 2}, {kTree, kSimple, 4}, kOwn, kOwn};
      Costs costs;
      costs.at(kNvls, kSimple) = -1;
      for (int round = 0; round < 50; ++round) {
        auto tuner = six();
        EXPECT_EQ(tuner.init(8 * nodes, nodes), kSuccess);
        for (size_t bytes = 1; bytes < 64; ++bytes) {
          EXPECT_EQ(tuner.ask({.bytes = bytes}, costs), expected[nodes - 1]);
        }
        tuner.finalize();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tuner_said.size(), 2u);  // The table, read once, and that there is no NVLS.
}

TEST_F(TunerTest, OneCommunicatorMayBeAskedByThreads) {
  write("allreduce,0,-1,ring,simple,2,-1,-1\n");
  auto tuner = six();
  ASSERT_EQ(tuner.init(8, 1), kSuccess);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&] {
      for (size_t bytes = 1; bytes < 2000; ++bytes) {
        EXPECT_EQ(tuner.ask({.bytes = bytes}), (Taken{kRing, kSimple, 2}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  tuner.finalize();
}

TEST_F(TunerTest, AForkedChildGoesOnWithItsRules) {
  write("allreduce,0,-1,ring,simple,2,-1,-1\n");
  auto tuner = six();
  ASSERT_EQ(tuner.init(8, 1), kSuccess);
  write("garbage\n");
  const pid_t child = fork();
  if (child == 0) {
    auto own = six();
    const bool right = own.init(8, 1) == kSuccess && own.ask({.bytes = 8}) == Taken{kRing, kSimple, 2} &&
                       tuner.ask({.bytes = 8}) == Taken{kRing, kSimple, 2};
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  tuner.finalize();
}

TEST_F(TunerTest, ATableThatChangesBetweenCommunicatorsDoesNotCountEither) {
  write("allreduce,0,-1,ring,simple,2,-1,-1\n");
  auto tuner = six();
  ASSERT_EQ(tuner.init(8, 1), kSuccess);
  tuner.finalize();
  // On ranks that have other communicators NCCL keeps the plugin.
  library_.unload();
  write("allreduce,0,-1,tree,simple,3,-1,-1\n");
  library_.load();
  auto again = six();
  ASSERT_EQ(again.init(8, 1), kSuccess);
  EXPECT_EQ(again.ask({.bytes = 8}), (Taken{kRing, kSimple, 2}));
  again.finalize();
}

}  // namespace
}  // namespace hocket::nccl::testing
