/// A second profiler behind ours.
#include <sys/wait.h>

#include <thread>

#include "profiler_harness.hpp"

namespace hocket::nccl::testing {
namespace {

constexpr int kKernels = kCollective | kKernelChannel;

class Chained : public ProfilerTest {
 protected:
  void SetUp() override {
    ProfilerTest::SetUp();
    set("HOCKET_NCCL_PROFILER_CHAIN", HOCKET_SECOND_PROFILER);
    set("SECOND_MASK", std::to_string(kKernels));
    second_ = dlopen(HOCKET_SECOND_PROFILER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(second_, nullptr) << dlerror();
    told();
  }

  /// What the second profiler was told since the last call.
  std::string told() const { return reinterpret_cast<const char* (*)()>(dlsym(second_, "take_told"))(); }

  /// A call as NCCL makes it: the caller's side, the group, the collective, its kernel; then a proxy.
  template <class Player>
  void play(const Player& player) {
    void* const group = player.start(kGroup);
    void* const call = player.start(kCollective, nullptr, [&](auto& descriptor) {
      descriptor.collective.function = "AllReduce";
      if constexpr (requires { descriptor.collective.parent_group; }) {
        descriptor.collective.parent_group = group;
      } else {
        descriptor.parent = group;
      }
    });
    player.stop(call);
    player.stop(group);
    void* const kernel = player.kernel_channel(call, 0, 1000);
    player.kernel_stop(kernel, 3000);
    player.stop(kernel);
    player.stop(player.proxy_operation(call));
  }

  template <class Player, class Table>
  void play_version(const char* symbol, const std::string& start_of_call) {
    FreshLibrary library(HOCKET_NCCL_PROFILER);
    Player player(library.table<Table>(symbol));
    ASSERT_EQ(player.init(), kSuccess);
    EXPECT_EQ(player.mask, kCollective | kPointToPoint | kKernelChannel);
    play(player);
    player.finalize();
    EXPECT_EQ(told(), "init 11806310474565 3/16\nstart 1 of -\n" + start_of_call +
                          "stop 2\nstop 1\nstart 64 of 2\nstate 64 22\nstop 64\nfinalize\n");
    Profile profile = read();
    EXPECT_EQ(profile.records[kCollective].at(0).stop_ns > 0, true);
    EXPECT_EQ(profile.records[kKernelChannel].size(), 0u);  // Only the second one asked for these.
    EXPECT_EQ(profile.header.late + profile.header.orphans, 0u);
    EXPECT_TRUE(said.empty()) << said[0];
  }

  void* second_ = nullptr;
};

TEST_F(Chained, Four) { play_version<Player4, Profiler4>("ncclProfiler_v4", "start 2 of 1\n"); }
TEST_F(Chained, Five) { play_version<Player5, Profiler<Descriptor5>>("ncclProfiler_v5", "start 2 of - group 1\n"); }
TEST_F(Chained, SixByFive) {
  play_version<Player6, Profiler<Descriptor6>>("ncclProfiler_v6", "start 2 of - group 1\n");
}
TEST_F(Chained, SevenByFive) {
  play_version<Player7, Profiler<Descriptor7>>("ncclProfiler_v7", "start 2 of - group 1\n");
}

class ChainedNewest : public Chained {
 protected:
  Player7 begin(int rank = 3, uint64_t id = 0xabcdef12345) {
    Player7 player(library_.table<Profiler<Descriptor7>>("ncclProfiler_v7"));
    EXPECT_EQ(player.init(rank, "dp0", id), kSuccess);
    return player;
  }

  FreshLibrary library_{HOCKET_NCCL_PROFILER};
};

TEST_F(ChainedNewest, OnlyTheSecondRecordsWithoutAFolder) {
  set("HOCKET_NCCL_PROFILE", "");
  Player7 player = begin();
  EXPECT_EQ(player.mask, kKernels);
  play(player);
  player.finalize();
  EXPECT_NE(told().find("start 64 of 2"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "deep"));
}

TEST_F(ChainedNewest, EachGetsWhatItAskedFor) {
  set("HOCKET_NCCL_EVENTS", "collective,kernel_phase,copy_collective");
  set("SECOND_MASK", std::to_string(kProxyStep));
  Player7 player = begin();
  EXPECT_EQ(player.mask, kCollective | kKernelPhase | kCopyCollective | kProxyStep);
  told();
  void* const call = player.collective(1);
  player.stop(player.start(kKernelPhase, player.kernel_channel(call, 0, 10)));
  player.stop(player.start(kCopyCollective));  // Newer than version 5.
  void* const operation = player.proxy_operation(call);
  player.stop(player.start(kProxyStep, operation));
  player.stop(player.start(kPointToPoint));  // It may be a step's parent.
  player.stop(player.start(kProxyControl));
  EXPECT_EQ(told(), "start 2 of - group -\nstart 8 of 2\nstart 16 of 8\nstop 16\nstart 4 of -\nstop 4\n");
  player.stop(operation);
  player.stop(call);
  player.finalize();
  Profile profile = read();
  EXPECT_EQ(profile.records[kKernelPhase].size() + profile.records[kCopyCollective].size(), 2u);
  EXPECT_EQ(profile.records[kProxyStep].size(), 0u);
}

TEST_F(ChainedNewest, AnotherProcessesParentIsNone) {
  set("SECOND_MASK", std::to_string(kProxyOperation));
  Player7 player = begin();
  void* const call = player.collective(1);
  told();
  player.stop(player.proxy_operation(call, getpid() + 1));
  EXPECT_EQ(told(), "start 8 of -\nstop 8\n");
  player.stop(call);
  player.finalize();
}

TEST_F(ChainedNewest, TheSecondMayAskForOthersLater) {
  Player7 player = begin();
  reinterpret_cast<void (*)(int)>(dlsym(second_, "ask_for"))(kProxyControl);
  player.stop(player.collective(1));
  EXPECT_EQ(player.mask, kCollective | kPointToPoint | kProxyControl);
  told();
  player.stop(player.start(kProxyControl));
  EXPECT_EQ(told(), "start 32 of -\nstop 32\n");
  player.finalize();
}

TEST_F(ChainedNewest, NothingReachesItAfterItsFinalize) {
  Player7 player = begin(), other = begin(4, 1);
  void* const call = player.collective(1);
  void* const kernel = player.kernel_channel(call, 0, 1000);
  player.finalize();
  told();
  player.kernel_stop(kernel, 2000);
  player.stop(kernel);
  player.stop(call);
  EXPECT_EQ(told(), "");
  EXPECT_GT(read().records[kCollective].at(0).stop_ns, 0);
  other.finalize();
  EXPECT_EQ(told(), "finalize\n");
}

TEST_F(ChainedNewest, HandlesPassedBetweenThreadsRaceWithRecycling) {
  set("HOCKET_NCCL_RECORDS", "16");
  Player7 player = begin();
  std::atomic<void*> shared{nullptr};
  std::atomic<bool> end{false};
  std::thread late([&] {
    while (!end) {
      void* const kernel = player.kernel_channel(shared.load(), 0, 1000);
      player.kernel_stop(kernel, 2000);
      player.stop(kernel);
      player.kernel_stop(kernel, 2500);
    }
  });
  for (uint64_t sequence = 0; sequence < 3000; ++sequence) {
    void* const call = player.collective(sequence);
    if (sequence % 8 == 0) shared = call;
    player.stop(call);
    player.stop(call);  // Twice: not told twice.
  }
  end = true;
  late.join();
  player.finalize();
  const std::string all = told();
  EXPECT_EQ(all.find("stray"), std::string::npos);
  Profile profile = read();
  EXPECT_EQ(profile.records[kCollective].size() + profile.header.dropped[1], 3000u);
}

TEST_F(ChainedNewest, AForkedChildTellsItNothing) {
  Player7 player = begin();
  void* const call = player.collective(1);
  told();
  const pid_t child = fork();
  if (child == 0) {
    player.stop(call);
    player.collective(2);
    player.finalize();
    _exit(told().empty() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  player.stop(call);
  player.finalize();
}

TEST_F(ChainedNewest, WhatCannotBeChainedIsSaidOnceAndOursGoesOn) {
  const std::pair<std::string, const char*> wrong[] = {
      {"/nowhere/profiler.so", "is left out: /nowhere/profiler.so: cannot open"},
      {"nobodys", "is left out: nobodys: cannot open"},
      {HOCKET_NCCL_TUNER, "is left out: it offers no profiler, but v4 to v7 of NCCL's profiler interface"},
  };
  for (const auto& [library, text] : wrong) {
    said.clear();
    set("HOCKET_NCCL_PROFILER_CHAIN", library);
    FreshLibrary fresh(HOCKET_NCCL_PROFILER);
    Player7 player(fresh.table<Profiler<Descriptor7>>("ncclProfiler_v7"));
    player.init();
    player.finalize();
    player.init();
    EXPECT_EQ(player.mask, kCollective | kPointToPoint);
    player.stop(player.collective(1));
    player.finalize();
    ASSERT_EQ(said.size(), 1u);
    EXPECT_NE(said[0].find(text), std::string::npos) << said[0];
  }
}

TEST_F(ChainedNewest, ItIsNotChainedToItself) {
  Dl_info self{};
  ASSERT_NE(dladdr(&library_.table<Profiler<Descriptor7>>("ncclProfiler_v7"), &self), 0);
  set("HOCKET_NCCL_PROFILER_CHAIN", self.dli_fname);
  Player7 player = begin();
  player.stop(player.collective(1));
  player.finalize();
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("it is this profiler"), std::string::npos) << said[0];
}

TEST_F(ChainedNewest, WithoutItsInitOursGoesOn) {
  set("SECOND_FAILS", "1");
  Player7 player = begin(), other = begin(4, 1);
  EXPECT_EQ(player.mask, kCollective | kPointToPoint);
  player.stop(player.collective(1));
  player.finalize();
  other.finalize();
  EXPECT_EQ(told(), "");
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "hocket: second: its init failed; it gets no events of this communicator");
  EXPECT_EQ(read().records[kCollective].size(), 1u);
}

}  // namespace
}  // namespace hocket::nccl::testing
