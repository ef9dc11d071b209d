#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "hocket/error.hpp"
#include "hocket/executor/mesh.hpp"

namespace hocket::executor {
namespace {

using schedule::StepType;
using std::chrono::milliseconds;

constexpr uint8_t kInput = 0, kOutput = 1;
constexpr uint64_t kToken = 1000;

Step step(StepType type, Place source, Place destination, int32_t count = 1) {
  return {type, source, destination, count, -1, -1};
}

enum class Transport { kTcp, kMemory };

/// Ranks are threads of this process, with a mesh each.
class World {
 public:
  World(int32_t size, Transport transport) {
    std::random_device random;
    for (int32_t rank = 0; rank < size; rank++) {
      const uint64_t nearby = transport == Transport::kMemory ? (uint64_t{random()} << 32 | random()) : 0;
      meshes_.push_back(std::make_unique<Mesh>(rank, Address{"127.0.0.1", 0, kToken + rank, nearby}));
      addresses_.push_back({"127.0.0.1", meshes_.back()->port(), kToken + rank, nearby});
    }
  }

  Mesh& mesh(int32_t rank) { return *meshes_[rank]; }

  /// What `rank` is told when `body` runs on its thread, with all others; empty where all went well. A rank that fails
  /// closes its mesh, as the caller of `run` must.
  template <typename Body>
  std::vector<std::string> each(Body body) {
    std::vector<std::future<std::string>> ranks;
    for (int32_t rank = 0; rank < static_cast<int32_t>(meshes_.size()); rank++) {
      ranks.push_back(std::async(std::launch::async, [this, rank, &body]() -> std::string {
        try {
          body(rank);
          return "";
        } catch (const Error& error) {
          mesh(rank).close();
          return error.what();
        }
      }));
    }
    std::vector<std::string> said;
    for (auto& rank : ranks) said.push_back(rank.get());
    return said;
  }

  void open(int32_t rank, const Program& program, const std::function<void()>& interrupted = [] {}) {
    check(program);
    mesh(rank).open(program.endpoints, addresses_, Clock::now() + milliseconds(10'000), interrupted);
  }

 private:
  std::vector<std::unique_ptr<Mesh>> meshes_;
  std::vector<Address> addresses_;
};

template <typename T>
Call call_on(std::vector<T>& input, std::vector<T>& output, int64_t chunks, ElementType type, uint64_t signature = 1,
             milliseconds timeout = milliseconds(10'000)) {
  const auto bytes = static_cast<int64_t>(input.size() * sizeof(T));
  return {{reinterpret_cast<std::byte*>(input.data()), reinterpret_cast<std::byte*>(output.data())},
          bytes / chunks,
          type,
          ReduceOp::kSum,
          signature,
          timeout,
          [] {}};
}

void run(const Program& program, Mesh& mesh, const Call& call) {
  const Workspace::Lease lease(mesh.workspace());
  mesh.run(program, call);
}

/// In place, one block a rank: send, then `fused` on the way to the sum, then pass the sums on.
Program ring(int32_t rank, int32_t size, StepType fused) {
  Program program{{size, size, 0}, {}, {{0, 0, 0, 2 * size - 1}}, {}};
  program.endpoints = {{(rank + 1) % size, 0}};
  if (size > 2) {
    program.endpoints.push_back({(rank + size - 1) % size, 0});
    program.blocks[0].receive = 1;
  }
  const auto place = [&](int32_t turn) { return Place{kInput, (rank - turn + 2 * size) % size}; };
  program.steps.push_back(step(StepType::kSend, place(0), place(0)));
  for (int32_t turn = 1; turn < 2 * size - 1; turn++) {
    StepType type = turn < size ? StepType::kReceiveReduceCopySend : StepType::kReceiveCopySend;
    if (turn < size - 1) type = fused;
    if (turn == 2 * size - 2) type = StepType::kReceive;
    program.steps.push_back(step(type, place(turn), place(turn)));
  }
  return program;
}

class Rings : public testing::TestWithParam<std::tuple<int32_t, int64_t, StepType, Transport>> {};

TEST_P(Rings, AddUpOverManyCallsOfOneMesh) {
  const auto [size, per_chunk, fused, transport] = GetParam();
  World world(size, transport);
  std::vector<std::vector<int32_t>> data(size);
  for (const int64_t count : {per_chunk, int64_t{1}, per_chunk}) {  // memory is kept between them
    const std::vector<std::string> said = world.each([&](int32_t rank) {
      const Program program = ring(rank, size, fused);
      world.open(rank, program);
      data[rank].resize(count * size);
      std::iota(data[rank].begin(), data[rank].end(), rank);
      run(program, world.mesh(rank), call_on(data[rank], data[rank], size, ElementType::kInt32));
    });
    for (int32_t rank = 0; rank < size; rank++) {
      ASSERT_EQ(said[rank], "");
      for (int32_t k = 0; k < count * size; k++) {
        ASSERT_EQ(data[rank][k], size * k + size * (size - 1) / 2) << "rank " << rank << ", element " << k;
      }
    }
  }
}

// 300,007 integers: no piece of 256 KiB ends with a chunk, and no socket holds one
INSTANTIATE_TEST_SUITE_P(Sizes, Rings,
                         testing::Combine(testing::Values(2, 3, 4), testing::Values(1, 17, 300'007),
                                          testing::Values(StepType::kReceiveReduceSend,
                                                          StepType::kReceiveReduceCopySend),
                                          testing::Values(Transport::kTcp, Transport::kMemory)));

/// What holds whatever lies between the ranks.
class Run : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Transports, Run, testing::Values(Transport::kTcp, Transport::kMemory));

TEST_P(Run, MessagesThatComeBeforeTheirReceiveAreKept) {
  // each rank sends all of its messages before it asks for one: more than sockets hold
  constexpr int32_t kMessages = 5;
  constexpr int64_t kPerChunk = 300'000;
  World world(2, GetParam());
  std::vector<std::vector<int64_t>> output(2, std::vector<int64_t>(kMessages * kPerChunk));
  const std::vector<std::string> said = world.each([&](int32_t rank) {
    Program program{{kMessages, kMessages, 0}, {{1 - rank, 7}}, {{0, 0, 0, 2 * kMessages}}, {}};
    for (int32_t m = 0; m < kMessages; m++) program.steps.push_back(step(StepType::kSend, {kInput, m}, {kOutput, m}));
    for (int32_t m = 0; m < kMessages; m++) {
      program.steps.push_back(step(StepType::kReceive, {kOutput, m}, {kOutput, m}));
    }
    std::vector<int64_t> input(kMessages * kPerChunk);
    std::iota(input.begin(), input.end(), rank);
    world.open(rank, program);
    run(program, world.mesh(rank), call_on(input, output[rank], kMessages, ElementType::kInt64));
  });
  for (int32_t rank = 0; rank < 2; rank++) {
    ASSERT_EQ(said[rank], "");
    for (int64_t k = 0; k < kMessages * kPerChunk; k++) ASSERT_EQ(output[rank][k], k + 1 - rank);
  }
}

TEST_P(Run, WhatIsStillSentIsNotOverwrittenByWhatComes) {
  // the receive lands where the send reads: it must wait for the send
  constexpr int64_t kCount = 2'000'000;
  World world(2, GetParam());
  std::vector<std::vector<int32_t>> data(2);
  const std::vector<std::string> said = world.each([&](int32_t rank) {
    Program program{{1, 1, 0}, {{1 - rank, 0}}, {{0, 0, 0, 2}}, {}};
    program.steps = {step(StepType::kSend, {kInput, 0}, {kInput, 0}),
                     step(StepType::kReceive, {kInput, 0}, {kInput, 0})};
    data[rank].assign(kCount, rank + 1);
    world.open(rank, program);
    run(program, world.mesh(rank), call_on(data[rank], data[rank], 1, ElementType::kInt32));
  });
  for (int32_t rank = 0; rank < 2; rank++) {
    ASSERT_EQ(said[rank], "");
    EXPECT_EQ(data[rank], std::vector<int32_t>(kCount, 2 - rank));
  }
}

TEST_P(Run, RanksInDifferentCollectivesAreTold) {
  World world(2, GetParam());
  const std::vector<std::string> said = world.each([&](int32_t rank) {
    std::vector<int32_t> data(2);
    const Program program = ring(rank, 2, StepType::kReceiveReduceCopySend);
    world.open(rank, program);
    run(program, world.mesh(rank), call_on(data, data, 2, ElementType::kInt32, 1 + rank));
  });
  EXPECT_NE((said[0] + said[1]).find("is in another collective"), std::string::npos) << said[0] << said[1];
}

TEST_P(Run, ADeadPeerIsNamed) {
  World world(3, GetParam());
  const std::vector<std::string> said = world.each([&](int32_t rank) {
    std::vector<int32_t> data(3);
    const Program program = ring(rank, 3, StepType::kReceiveReduceCopySend);
    world.open(rank, program);
    if (rank == 2) throw Error("died");
    run(program, world.mesh(rank), call_on(data, data, 3, ElementType::kInt32));
  });
  EXPECT_NE(said[0].find("lost the connection to rank 2"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("lost the connection to rank"), std::string::npos) << said[1];
  EXPECT_EQ(world.mesh(0).lost(), 2);
}

TEST_P(Run, ALateRankIsNamedAfterTheTimeout) {
  World world(2, GetParam());
  const std::vector<std::string> said = world.each([&](int32_t rank) {
    std::vector<int32_t> data(2);
    const Program program = ring(rank, 2, StepType::kReceiveReduceCopySend);
    world.open(rank, program);
    if (rank == 0) run(program, world.mesh(0), call_on(data, data, 2, ElementType::kInt32, 1, milliseconds(50)));
  });
  EXPECT_EQ(said[0], "nothing moved for 50 ms: waiting for rank 1, which has not begun this collective");
}

TEST_P(Run, WhoeverConnectsAndSaysNothingKeepsNobodyWaiting) {
  World world(2, GetParam());
  const int stranger = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in place{AF_INET, htons(world.mesh(1).port()), {htonl(INADDR_LOOPBACK)}, {}};
  ASSERT_EQ(connect(stranger, reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
  const std::vector<std::string> said =
      world.each([&](int32_t rank) { world.open(rank, ring(rank, 2, StepType::kReceiveReduceCopySend)); });
  ::close(stranger);
  EXPECT_EQ(said[0] + said[1], "");
}

TEST_P(Run, WhoeverKeepsSayingHalfAHelloKeepsNobodyWaiting) {
  World world(2, GetParam());
  const sockaddr_in place{AF_INET, htons(world.mesh(1).port()), {htonl(INADDR_LOOPBACK)}, {}};
  std::atomic<bool> over = false;
  std::thread stranger([&] {
    std::deque<int> open;
    while (!over) {
      open.push_back(::socket(AF_INET, SOCK_STREAM, 0));
      if (connect(open.back(), reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) {
        static_cast<void>(::send(open.back(), "half", 4, MSG_NOSIGNAL));
      }
      if (open.size() > 500) ::close(open.front()), open.pop_front();
    }
    for (const int socket : open) ::close(socket);
  });
  std::this_thread::sleep_for(milliseconds(300));
  const Clock::time_point begin = Clock::now();
  const std::vector<std::string> said =
      world.each([&](int32_t rank) { world.open(rank, ring(rank, 2, StepType::kReceiveReduceCopySend)); });
  const auto took = Clock::now() - begin;
  over = true;
  stranger.join();
  EXPECT_EQ(said[0] + said[1], "");
  EXPECT_LT(took, milliseconds(5000));
}

TEST_P(Run, AnInterruptEndsTheWaitForAConnection) {
  struct Interrupt {};
  World world(2, GetParam());
  EXPECT_THROW(world.open(1, ring(1, 2, StepType::kReceiveReduceCopySend), [] { throw Interrupt(); }), Interrupt);
}

TEST_P(Run, AnInterruptEndsTheWait) {
  struct Interrupt {};
  World world(2, GetParam());
  bool thrown = false;
  world.each([&](int32_t rank) {
    std::vector<int32_t> data(2);
    const Program program = ring(rank, 2, StepType::kReceiveReduceCopySend);
    world.open(rank, program);
    if (rank == 1) return;
    Call call = call_on(data, data, 2, ElementType::kInt32);
    call.interrupted = [] { throw Interrupt(); };
    try {
      run(program, world.mesh(0), call);
    } catch (const Interrupt&) {
      thrown = true;
    }
  });
  EXPECT_TRUE(thrown);
}

}  // namespace
}  // namespace hocket::executor
