#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <set>
#include <thread>

#include "allocations.hpp"
#include "profiler_harness.hpp"

namespace hocket::nccl::testing {
namespace {

/// What NCCL does for one all_reduce over the network, with kernel times: its own order, in which the call's own stop
/// (it is enqueued) comes before its children start.
template <class Player>
void play_all_reduce(const Player& player) {
  void* const group = player.start(kGroup);
  ASSERT_NE(group, nullptr);
  void* const call = player.collective(7, group);
  player.stop(call);
  player.stop(group);
  void* const operation = player.proxy_operation(call);
  void* const step = player.start(kProxyStep, operation, [](auto& descriptor) { descriptor.proxy_step = 5; });
  player.transferred(step, 4096);
  player.stop(step);
  void* const first = player.kernel_channel(call, 0, 1000);
  void* const second = player.kernel_channel(call, 1, 900);
  player.kernel_stop(first, 3000);
  player.stop(first);
  player.stop(second);
  player.kernel_stop(second, 3500);  // Late: after the stop of its event.
  player.stop(operation);
}

void expect_all_reduce(const Profile& profile) {
  ASSERT_EQ(profile.records.at(kCommunicator).size(), 1u);
  const Record& communicator = profile.records.at(kCommunicator)[0];
  EXPECT_EQ(communicator.sequence, 0xabcdef12345u);
  EXPECT_STREQ(communicator.call.function, "dp0");
  EXPECT_EQ(communicator.peer, 3);
  EXPECT_EQ(communicator.call.count, 16u);
  EXPECT_EQ(communicator.call.channels, 2u);

  ASSERT_EQ(profile.records.at(kCollective).size(), 1u);
  const Record& call = profile.records.at(kCollective)[0];
  EXPECT_EQ(call.sequence, 7u);
  EXPECT_STREQ(call.call.function, "AllReduce");
  EXPECT_STREQ(call.call.datatype, "ncclFloat32");
  EXPECT_STREQ(call.call.algorithm, "RING");
  EXPECT_STREQ(call.call.protocol, "SIMPLE");
  EXPECT_EQ(call.call.count, 1024u);
  EXPECT_EQ(call.call.channels, 2u);
  EXPECT_EQ(call.warps, 17u);
  EXPECT_EQ(call.parent, 0u);  // Groups were not asked for.
  // One proxy operation and two kernel channels; from the first's start to the last's stop.
  EXPECT_EQ(call.children_started, 3u);
  EXPECT_EQ(call.children_stopped, 3u);
  EXPECT_EQ(call.gpu_start_ns, 900u);
  EXPECT_EQ(call.gpu_stop_ns, 3500u);
  EXPECT_LE(call.start_ns, call.stop_ns);

  const Record& operation = profile.records.at(kProxyOperation).at(0);
  EXPECT_EQ(operation.parent, 2u);  // The first record is the communicator's, the second the call's.
  EXPECT_EQ(operation.call.count, 8u);
  EXPECT_EQ(operation.bytes, 1u << 20);
  EXPECT_EQ(call.end_ns, operation.stop_ns);
  const Record& step = profile.records.at(kProxyStep).at(0);
  EXPECT_EQ(step.parent, 3u);
  EXPECT_EQ(step.sequence, 5u);
  EXPECT_EQ(step.bytes, 4096u);
  EXPECT_EQ(profile.records.at(kKernelChannel).size(), 2u);
  EXPECT_EQ(profile.header.late, 0u);
  EXPECT_EQ(profile.header.orphans, 0u);
}

constexpr const char* kAllEvents = "collective,p2p,proxy_operation,proxy_step,kernel_channel";

class EveryVersion : public ProfilerTest {
 protected:
  template <class Player, class Table>
  void play(const char* symbol) {
    set("HOCKET_NCCL_EVENTS", kAllEvents);
    FreshLibrary library(HOCKET_NCCL_PROFILER);
    const Table& table = library.table<Table>(symbol);
    EXPECT_STREQ(table.name, "hocket");
    Player player(table);
    ASSERT_EQ(player.init(), kSuccess);
    EXPECT_EQ(player.mask, kCollective | kPointToPoint | kProxyOperation | kProxyStep | kKernelChannel);
    play_all_reduce(player);
    player.finalize();
    library.unload();
    expect_all_reduce(read());
    EXPECT_TRUE(said.empty());
  }
};

TEST_F(EveryVersion, Four) { play<Player4, Profiler4>("ncclProfiler_v4"); }
TEST_F(EveryVersion, Five) { play<Player5, Profiler<Descriptor5>>("ncclProfiler_v5"); }
TEST_F(EveryVersion, Six) { play<Player6, Profiler<Descriptor6>>("ncclProfiler_v6"); }
TEST_F(EveryVersion, Seven) { play<Player7, Profiler<Descriptor7>>("ncclProfiler_v7"); }

/// Tests of what does not depend on the version.
class Newest : public ProfilerTest {
 protected:
  Player7 begin(int rank = 3, uint64_t id = 0xabcdef12345) {
    Player7 player(library_.table<Profiler<Descriptor7>>("ncclProfiler_v7"));
    EXPECT_EQ(player.init(rank, "dp0", id), kSuccess);
    return player;
  }

  FreshLibrary library_{HOCKET_NCCL_PROFILER};
};

TEST_F(Newest, RecordsTheCallersSideAndCopyEngines) {
  set("HOCKET_NCCL_EVENTS",
      "group_api,collective_api,p2p_api,kernel_launch,copy_collective,copy_batch,kernel_phase,p2p");
  Player7 player = begin();
  void* const group = player.start(kGroupApi, nullptr, [](Descriptor7& d) { d.group_api = {true, 2}; });
  void* const api = player.start(kCollectiveApi, group, [](Descriptor7& d) {
    d.collective_api.function = "AllGather";
    d.collective_api.count = 64;
    d.collective_api.datatype = "ncclBfloat16";
    d.collective_api.user_tag = 99;
  });
  void* const copy = player.start(kCopyCollective, api, [](Descriptor7& d) {
    d.copy_collective.function = "AllGather";
    d.copy_collective.sync_strategy = "MC";
    d.copy_collective.batch_size = 32;
  });
  void* const batch = player.start(kCopyBatch, copy, [](Descriptor7& d) { d.copy_batch = {3, 4096, false}; });
  void* const message = player.start(kPointToPoint, group, [](Descriptor7& d) {
    d.point_to_point.function = "Send";
    d.point_to_point.peer = 11;
    d.point_to_point.count = 96;
    d.point_to_point.datatype = nullptr;
  });
  void* const phase = player.start(kKernelPhase, player.start(kKernelChannel, message), [](Descriptor7& d) {
    d.kernel_phase = {4, 1, "a name that is longer than its field", 500};
  });
  for (void* event : {phase, batch, copy, message, api, group}) player.stop(event);
  player.finalize();
  Profile profile = read();
  EXPECT_EQ(profile.records[kGroupApi].at(0).call.count, 2u);
  EXPECT_EQ(profile.records[kGroupApi][0].children_stopped, 2u);
  EXPECT_EQ(profile.records[kCollectiveApi].at(0).user_tag, 99u);
  EXPECT_STREQ(profile.records[kCopyCollective].at(0).call.algorithm, "MC");
  EXPECT_EQ(profile.records[kCopyBatch].at(0).bytes, 4096u);
  EXPECT_EQ(profile.records[kPointToPoint].at(0).peer, 11);
  EXPECT_STREQ(profile.records[kKernelPhase].at(0).call.function, "a name that is ");
  EXPECT_EQ(profile.records[kKernelPhase][0].parent, 0u);  // Kernel channels were not asked for.
}

TEST_F(Newest, AnotherProcessesParentIsNotTouched) {
  set("HOCKET_NCCL_EVENTS", kAllEvents);
  Player7 player = begin();
  void* const call = player.collective(1);
  // A proxy that works for another process hands on that process's handle, which may look like one of ours.
  player.stop(player.proxy_operation(call, getpid() + 1));
  player.stop(player.proxy_operation(reinterpret_cast<void*>(0x7fff00001000)));
  player.stop(call);
  player.finalize();
  Profile profile = read();
  EXPECT_EQ(profile.records[kCollective].at(0).children_started, 0u);
  EXPECT_EQ(profile.records[kProxyOperation].size(), 2u);
  EXPECT_EQ(profile.header.orphans, 2u);
}

TEST_F(Newest, WhatComesAfterRecyclingIsIgnored) {
  set("HOCKET_NCCL_EVENTS", kAllEvents);
  set("HOCKET_NCCL_RECORDS", "16");
  Player7 player = begin();
  void* const old = player.collective(0);
  void* const kernel = player.kernel_channel(old, 0, 1000);
  player.stop(kernel);
  player.stop(old);
  player.stop(old);                          // Twice: the second is late.
  player.stop(player.proxy_operation(old));  // The record is idle, not yet taken again: its child finds it.
  for (uint64_t sequence = 1; sequence <= 64; ++sequence) player.stop(player.collective(sequence));
  player.kernel_stop(kernel, 9000);
  player.stop(old);
  player.stop(player.proxy_operation(old));
  player.stop(nullptr);
  player.finalize();
  Profile profile = read();
  ASSERT_EQ(profile.records[kCollective].size(), 65u);
  EXPECT_EQ(profile.records[kCollective][0].children_started, 2u);
  EXPECT_EQ(profile.records[kCollective][0].gpu_stop_ns, 0u);
  for (const Record& call : profile.records[kCollective]) EXPECT_EQ(call.gpu_stop_ns, 0u);
  EXPECT_EQ(profile.header.late, 3u);
  EXPECT_EQ(profile.header.orphans, 1u);
}

TEST_F(Newest, CountsWhatAFullPoolDrops) {
  set("HOCKET_NCCL_RECORDS", "16");
  Player7 player = begin();
  std::vector<void*> events;
  for (uint64_t sequence = 0; sequence < 20; ++sequence) events.push_back(player.collective(sequence));
  for (void* event : events) {
    ASSERT_NE(event, nullptr);
    player.stop(event);
  }
  player.stop(player.collective(20));  // There is room again.
  player.finalize();
  Profile profile = read();
  EXPECT_EQ(profile.records[kCollective].size(), 17u);
  EXPECT_EQ(profile.header.dropped[1], 4u);  // Bit 1 is kCollective's: 20 started at once, 16 records.
  EXPECT_EQ(profile.header.late, 0u);
}

TEST_F(Newest, SeveralCommunicatorsAndThreadsKeepTheirRecordsApart) {
  set("HOCKET_NCCL_EVENTS", kAllEvents);
  set("HOCKET_NCCL_RECORDS", "16384");  // None is recycled, however long a thread has to wait for its turn.
  set("HOCKET_NCCL_TABLE", "1");
  constexpr int kThreads = 4;
  constexpr uint64_t kCalls = 1500;  // With their kernels, 12,000 records: three segments.
  std::vector<std::thread> threads;
  std::vector<Player7> players;
  for (int rank = 0; rank < kThreads; ++rank) players.push_back(begin(rank, 100 + rank));
  for (const Player7& player : players) {
    threads.emplace_back([&player] {
      for (uint64_t sequence = 0; sequence < kCalls; ++sequence) {
        void* const call = player.collective(sequence);
        player.stop(call);
        void* const kernel = player.kernel_channel(call, 0, 1000);
        player.kernel_stop(kernel, 3000);
        player.stop(kernel);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Player7& player : players) player.finalize();
  Profile profile = read();
  std::map<uint32_t, std::set<uint64_t>> sequences;
  for (const Record& call : profile.records[kCollective]) {
    sequences[call.communicator].insert(call.sequence);
    EXPECT_EQ(call.children_stopped, 1u);
    EXPECT_EQ(call.gpu_stop_ns - call.gpu_start_ns, 2000u);
  }
  for (uint32_t number = 0; number < kThreads; ++number) EXPECT_EQ(sequences[number].size(), kCalls);
  EXPECT_EQ(profile.header.dropped[1] + profile.header.late + profile.header.orphans, 0u);
  // 1024 elements of 4 bytes in 2 us: 4096 B / 2000 ns = 2.05 GB/s, times 2 x 15/16 on the bus: 3.84.
  EXPECT_NE(text(".txt").find("16      1500      1500      2.00      2.05      3.84"), std::string::npos)
      << text(".txt");
}

TEST_F(Newest, HandlesPassedBetweenThreadsRaceWithRecycling) {
  set("HOCKET_NCCL_EVENTS", kAllEvents);
  set("HOCKET_NCCL_RECORDS", "16");
  Player7 player = begin();
  std::atomic<void*> shared{nullptr};
  std::atomic<bool> end{false};
  std::thread late([&] {  // As a proxy thread that is far behind.
    while (!end) {
      void* const call = shared.load();
      void* const kernel = player.kernel_channel(call, 0, 1000);
      player.kernel_stop(kernel, 2000);
      player.stop(kernel);
      player.kernel_stop(kernel, 2500);
    }
  });
  for (uint64_t sequence = 0; sequence < 20000; ++sequence) {
    void* const call = player.collective(sequence);
    if (sequence % 8 == 0) shared = call;
    player.stop(call);
  }
  end = true;
  late.join();
  player.finalize();
  Profile profile = read();
  for (const Record& call : profile.records[kCollective]) ASSERT_EQ(call.children_started, call.children_stopped);
  EXPECT_EQ(profile.records[kCollective].size() + profile.header.dropped[1], 20000u);
}

TEST_F(Newest, AStopAfterFinalizeIsRecorded) {
  Player7 player = begin();
  void* const call = player.collective(5);
  player.finalize();
  player.stop(call);
  EXPECT_GT(read().records[kCollective].at(0).stop_ns, 0);
}

TEST_F(Newest, AKilledProcessLeavesWhatItHadStarted) {
  const pid_t child = fork();
  if (child == 0) {
    Player7 player = begin();
    player.stop(player.collective(1));
    player.collective(2);
    std::raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  Profile profile = read(child);
  ASSERT_EQ(profile.records[kCollective].size(), 2u);
  EXPECT_GT(profile.records[kCollective][0].stop_ns, 0);
  EXPECT_EQ(profile.records[kCollective][1].stop_ns, 0);
}

TEST_F(Newest, AForkedChildRecordsNothing) {
  set("HOCKET_NCCL_PROMETHEUS", "1");
  Player7 player = begin();
  void* const call = player.collective(1);
  const pid_t child = fork();
  if (child == 0) {
    player.stop(call);
    const bool quiet = player.collective(2) == nullptr && player.init() == kSuccess;
    player.finalize();
    library_.unload();
    _exit(quiet ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  player.stop(call);
  player.finalize();
  EXPECT_EQ(read().records[kCollective].size(), 1u);
}

TEST_F(Newest, ExitWithAnOpenCommunicatorWritesTheReports) {
  set("HOCKET_NCCL_PROMETHEUS", "3600");
  const pid_t child = fork();
  if (child == 0) {
    std::filesystem::create_directory(folder_);
    std::filesystem::current_path(folder_);
    set("HOCKET_NCCL_PROFILE", "deep");
    Player7 player = begin();
    std::filesystem::current_path("/");
    player.stop(player.collective(1));
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(text(".prom", child).find("protocol=\"SIMPLE\",channels=\"2\",bytes=\"4096\"} 1\n"), std::string::npos);
}

TEST_F(Newest, ExitAfterTheLastCommunicatorLeavesTheReports) {
  set("HOCKET_NCCL_TABLE", "1");
  const pid_t child = fork();
  if (child == 0) {
    Player7 player = begin();
    player.stop(player.collective(1));
    player.finalize();
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(text(".txt", child).find("SIMPLE      2     16         1         0 "), std::string::npos)
      << text(".txt", child);
}

TEST_F(Newest, NothingIsRecordedUnlessAsked) {
  set("HOCKET_NCCL_PROFILE", "");
  Player7 player = begin();
  EXPECT_EQ(player.mask, 0);
  // The mask is one for the whole process, so events may come all the same.
  EXPECT_EQ(player.collective(1), nullptr);
  player.stop(nullptr);
  player.finalize();
}

TEST_F(Newest, NothingIsAllocatedAndNoMoreIsMappedAfterTheStart) {
  set("HOCKET_NCCL_EVENTS", kAllEvents);
  set("HOCKET_NCCL_RECORDS", "16");
  set("HOCKET_NCCL_TABLE", "1");
  Player7 player = begin();
  const AllocationCount allocations;
  for (uint64_t sequence = 0; sequence < 2 * kSegmentRecords; ++sequence) {
    void* const call = player.collective(sequence, nullptr, sequence % 7);
    player.stop(call);
    player.stop(player.kernel_channel(call, 0, 1000));
  }
  EXPECT_EQ(allocations.count(), 0u);
  int mapped = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) mapped += line.find(folder_) != line.npos;
  EXPECT_LE(mapped, 3);  // The header, the current segment, and the one before it while a record there is idle.
  player.finalize();
}

TEST_F(Newest, AFullDiskEndsTheProfileNotTheJob) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{kHeaderBytes + 2 * kSegmentRecords * sizeof(Record), RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    Player7 player = begin();
    for (uint64_t sequence = 0; sequence < 3 * kSegmentRecords; ++sequence) player.stop(player.collective(sequence));
    player.finalize();
    _exit(said.size() == 1 && said[0].find("nothing more is recorded") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  Profile profile = read(child);
  // Two segments, of which one record is the communicator's.
  EXPECT_EQ(profile.records[kCollective].size(), 2 * kSegmentRecords - 1);
  EXPECT_EQ(profile.header.dropped[1], kSegmentRecords + 1);
  EXPECT_EQ(profile.header.error, EFBIG);
}

TEST_F(Newest, AFullDiskAtTheStartLeavesNoFile) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{kHeaderBytes, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(begin().mask == 0 && said.size() == 1 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "deep"));
}

TEST_F(Newest, WithoutAThreadForMetricsTheJobKeepsItsSignals) {
  set("HOCKET_NCCL_PROMETHEUS", "1");
  std::filesystem::create_directories(folder_ / "deep");
  std::filesystem::permissions(folder_ / "deep", std::filesystem::perms::all);
  const pid_t child = fork();
  if (child == 0) {
    // Root may have any number of threads.
    if (getuid() == 0 && setuid(65534) != 0) _exit(2);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NPROC, &none);
    Player7 player = begin();
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    const bool told = said.size() == 1 && said[0].find("no thread") != std::string::npos;
    player.finalize();
    _exit(told && sigismember(&blocked, SIGTERM) == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Newest, CommunicatorsThatFollowTheLastGoIntoTheSameFile) {
  begin(3, 1).finalize();
  library_.unload();
  library_.load();
  begin(3, 2).finalize();
  Profile profile = read();
  ASSERT_EQ(profile.records[kCommunicator].size(), 2u);
  EXPECT_EQ(profile.records[kCommunicator][1].sequence, 2u);
}

TEST_F(Newest, WhatIsWrongIsSaidOnce) {
  const std::pair<const char*, const char*> wrong[] = {
      {"HOCKET_NCCL_EVENTS", "collective,colective"},
      {"HOCKET_NCCL_RECORDS", "15"},
      {"HOCKET_NCCL_TABLE", "yes"},
      {"HOCKET_NCCL_PROFILE", "/dev/null/folder"},
  };
  library_.unload();
  for (const auto& [name, value] : wrong) {
    said.clear();
    const char* const before = std::getenv(name);
    const std::string kept = before == nullptr ? "" : before;
    set(name, value);
    FreshLibrary library(HOCKET_NCCL_PROFILER);
    Player7 player(library.table<Profiler<Descriptor7>>("ncclProfiler_v7"));
    // An error would make NCCL count the communicator off twice, and unload the plugin while others use it.
    EXPECT_EQ(player.init(), kSuccess);
    EXPECT_EQ(player.init(), kSuccess);
    EXPECT_EQ(player.mask, 0);
    EXPECT_EQ(player.collective(1), nullptr);
    player.finalize();
    ASSERT_EQ(said.size(), 1u);
    set(name, kept);
  }
}

}  // namespace
}  // namespace hocket::nccl::testing
