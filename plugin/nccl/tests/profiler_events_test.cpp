/// What each kind of event leaves in its record, and the reports that are written while a job runs.

#include <chrono>
#include <thread>

#include "profiler_harness.hpp"

namespace hocket::nccl::testing {
namespace {

constexpr int kSendGpuWait = 8, kSendPeerWait = 20, kReceiveWait = 10, kReceiveGpuWait = 12;
constexpr int kProxyActive = 14, kProxyAppend = 17, kNetPluginUpdate = 21;

class Events : public ProfilerTest {
 protected:
  Player7 begin(const char* events) {
    set("HOCKET_NCCL_EVENTS", events);
    Player7 player(library_.table<Profiler<Descriptor7>>("ncclProfiler_v7"));
    EXPECT_EQ(player.init(), kSuccess);
    return player;
  }

  FreshLibrary library_{HOCKET_NCCL_PROFILER};
};

TEST_F(Events, AStepsBytesAreThoseOfTheStateThatTransfersThem) {
  Player7 player = begin("proxy_step");
  // In the others NCCL still passes what the channel's step before transferred: here 999.
  void* const send = player.start(kProxyStep);
  player.state(send, kSendGpuWait, {.transferred_bytes = 999});
  player.state(send, kSendPeerWait, {.transferred_bytes = 999});
  player.state(send, kSendWait, {.transferred_bytes = 100});
  player.stop(send);
  void* const receive = player.start(kProxyStep);
  player.state(receive, kReceiveWait, {.transferred_bytes = 999});
  player.state(receive, kReceiveFlushWait, {.transferred_bytes = 70});
  player.state(receive, kReceiveGpuWait, {.transferred_bytes = 70});
  player.stop(receive);
  player.finalize();
  Profile profile = read();
  EXPECT_EQ(profile.records[kProxyStep].at(0).bytes, 100u);
  EXPECT_EQ(profile.records[kProxyStep].at(1).bytes, 70u);
}

TEST_F(Events, ProxyControlTellsWhatTheProxyTurnedTo) {
  Player7 player = begin("proxy_control,net");
  void* const active = player.start(kProxyControl);
  player.state(active, kProxyActive, {});
  player.stop(active);
  void* const append = player.start(kProxyControl);
  player.state(append, kProxyAppend, {});
  player.state(append, kProxyAppendEnd, {.appended_operations = 5});
  player.stop(append);
  // InfiniBand's plugin, version 1. Its data is its own and is not read.
  void* const net = player.start(kNetPlugin, nullptr, [](Descriptor7& d) { d.net_plugin = {1 << 16 | 1, nullptr}; });
  player.state(net, kNetPluginUpdate, {.net_data = reinterpret_cast<void*>(8)});
  player.stop(net);
  player.finalize();
  Profile profile = read();
  EXPECT_EQ(profile.records[kProxyControl].at(0).sequence, 14u);
  EXPECT_EQ(profile.records[kProxyControl].at(1).sequence, 18u);
  EXPECT_EQ(profile.records[kProxyControl].at(1).call.count, 5u);
  EXPECT_EQ(profile.records[kNetPlugin].at(0).sequence, 65537u);
  EXPECT_GT(profile.records[kNetPlugin].at(0).stop_ns, 0);
}

TEST_F(Events, UserTagsAndKernelsOfVersionSevenAreKept) {
  Player7 player = begin("collective,p2p,copy_collective,p2p_api");
  player.stop(player.start(kCollective, nullptr, [](Descriptor7& d) {
    d.collective.user_tag = 7;
    d.collective.symmetric = true;
    d.collective.kernel_variant = "AllReduce_RSxLDMC_AGxSTMC";
  }));
  player.stop(player.start(kPointToPoint, nullptr, [](Descriptor7& d) { d.point_to_point.user_tag = 8; }));
  player.stop(player.start(kCopyCollective, nullptr, [](Descriptor7& d) { d.copy_collective.user_tag = 9; }));
  player.stop(player.start(kPointToPointApi, nullptr, [](Descriptor7& d) { d.point_to_point_api.user_tag = 10; }));
  player.finalize();
  Profile profile = read();
  EXPECT_EQ(profile.records[kCollective].at(0).user_tag, 7u);
  EXPECT_EQ(profile.records[kCollective][0].symmetric, 1u);
  EXPECT_STREQ(profile.records[kCollective][0].variant, "AllReduce_RSxLD");
  EXPECT_EQ(profile.records[kPointToPoint].at(0).user_tag, 8u);
  EXPECT_EQ(profile.records[kCopyCollective].at(0).user_tag, 9u);
  EXPECT_EQ(profile.records[kPointToPointApi].at(0).user_tag, 10u);
}

TEST_F(Events, ACudaGraphsCallsAreRecordedEachTimeItIsLaunched) {
  set("HOCKET_NCCL_RECORDS", "16");
  Player7 player = begin("collective,group_api,collective_api");
  void* const group = player.start(kGroupApi, nullptr, [](Descriptor7& d) { d.group_api = {true, 1}; });
  void* const api = player.start(kCollectiveApi, group, [](Descriptor7& d) { d.collective_api.captured = true; });
  player.stop(api);
  player.stop(group);
  // Launches come from a callback of CUDA's, all with the captured call as parent, which was recycled long before the
  // last one, and all with the same number.
  std::thread callback([&] {
    for (int launch = 0; launch < 40; ++launch) player.stop(player.collective(3, api));
  });
  callback.join();
  player.finalize();
  Profile profile = read();
  EXPECT_EQ(profile.records[kCollective].size(), 40u);
  EXPECT_EQ(profile.records[kGroupApi].at(0).warps, 1u);
  EXPECT_EQ(profile.records[kCollectiveApi].at(0).warps, 1u);
  EXPECT_EQ(profile.records[kCollectiveApi][0].children_started + profile.header.orphans, 40u);
  EXPECT_GT(profile.header.orphans, 0u);
}

TEST_F(Events, NothingCountsKernelsUnlessAsked) {
  set("HOCKET_NCCL_EVENTS", "");
  Player7 player(library_.table<Profiler<Descriptor7>>("ncclProfiler_v7"));
  ASSERT_EQ(player.init(), kSuccess);
  EXPECT_EQ(player.mask, kCollective | kPointToPoint);
  player.finalize();
}

TEST_F(Events, MetricsAreWrittenWhileTheJobRuns) {
  set("HOCKET_NCCL_PROMETHEUS", "1");
  Player7 player = begin("collective");
  player.stop(player.collective(1));
  const auto written = [&] {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "deep")) {
      if (entry.path().extension() == ".prom") return true;
    }
    return false;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!written() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(9));
  EXPECT_NE(text(".prom").find("hocket_nccl_calls_total{"), std::string::npos);
  player.finalize();
}

TEST_F(Events, AReportThatCannotBeWrittenLeavesNone) {
  set("HOCKET_NCCL_TABLE", "1");
  Player7 player = begin("collective");
  std::filesystem::path table;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "deep")) table = entry.path();
  table.replace_extension(".txt");
  std::filesystem::create_symlink("/dev/full", table.string() + ".part");
  player.stop(player.collective(1));
  player.finalize();
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(table)));
}

TEST_F(Events, CallsOfTooManyKindsAreCountedOnce) {
  set("HOCKET_NCCL_TABLE", "1");
  Player7 player = begin("collective,kernel_channel");
  for (uint64_t count = 1; count <= 1500; ++count) {
    void* const call = player.collective(count, nullptr, count);
    player.stop(call);
    player.stop(player.kernel_channel(call, 0, 1000));
  }
  player.finalize();
  EXPECT_NE(text(".txt").find("# 476 calls of more kinds"), std::string::npos);  // 1500 - 1024.
}

TEST_F(Events, TheLaunchersRankIsNoted) {
  set("SLURM_PROCID", "9");
  set("RANK", "4");
  Player7 player = begin("collective");
  player.finalize();
  EXPECT_EQ(read().header.place, 5u);
}

/// All names of NCCL's, from 2.27 to 2.32.
class EveryName : public ProfilerTest {
 protected:
  template <class Player, class Table>
  void play(const char* symbol) {
    constexpr const char* kAlgorithms[] = {"TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
                                           "NVLS_TREE", "PAT",  "Unknown"};
    constexpr const char* kProtocols[] = {"LL", "LL128", "SIMPLE"};
    FreshLibrary library(HOCKET_NCCL_PROFILER);
    Player player(library.table<Table>(symbol));
    ASSERT_EQ(player.init(), kSuccess);
    for (const char* algorithm : kAlgorithms) {
      for (const char* protocol : kProtocols) {
        player.stop(player.start(kCollective, nullptr, [&](auto& descriptor) {
          descriptor.collective.function = "ReduceScatter";
          descriptor.collective.datatype = "ncclFloat8e4m3";
          descriptor.collective.algorithm = algorithm;
          descriptor.collective.protocol = protocol;
        }));
      }
    }
    player.finalize();
    Profile profile = read();
    auto record = profile.records[kCollective].begin();
    for (const char* algorithm : kAlgorithms) {
      for (const char* protocol : kProtocols) {
        EXPECT_STREQ(record->call.function, "ReduceScatter");
        EXPECT_STREQ(record->call.datatype, "ncclFloat8e4m3");
        EXPECT_STREQ(record->call.algorithm, algorithm);
        EXPECT_STREQ((record++)->call.protocol, protocol);
      }
    }
  }
};

TEST_F(EveryName, Four) { play<Player4, Profiler4>("ncclProfiler_v4"); }
TEST_F(EveryName, Five) { play<Player5, Profiler<Descriptor5>>("ncclProfiler_v5"); }
TEST_F(EveryName, Six) { play<Player6, Profiler<Descriptor6>>("ncclProfiler_v6"); }
TEST_F(EveryName, Seven) { play<Player7, Profiler<Descriptor7>>("ncclProfiler_v7"); }

}  // namespace
}  // namespace hocket::nccl::testing
