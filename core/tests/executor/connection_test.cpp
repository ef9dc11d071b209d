#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "../../src/executor/arrivals.hpp"
#include "../../src/executor/stream.hpp"
#include "hocket/executor/reduce.hpp"

namespace hocket::executor {
namespace {

/// Both ends of a connection, of ranks 0 and 1.
struct Pair {
  explicit Pair(bool through_memory) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) throw Error("no sockets");
    inherited = Descriptor(dup(ends[0]));
    if (through_memory) {
      const Descriptor memory = create_shared_memory();
      left = over_memory(Descriptor(ends[0]), memory, true, 1);
      right = over_memory(Descriptor(ends[1]), memory, false, 0);
    } else {
      left = over_socket(Descriptor(ends[0]), 1);
      right = over_socket(Descriptor(ends[1]), 0);
    }
  }

  Descriptor inherited;  ///< the left end's socket as a forked child has it
  std::unique_ptr<Connection> left, right;
  Workspace workspace;
};

class Connections : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Transports, Connections, testing::Bool());

TEST_P(Connections, APeerThatEndsWithinAnElementIsLost) {
  Pair pair(GetParam());
  Stream(*pair.left, 1, 1, pair.workspace).write(std::vector<std::byte>(8 + 3));
  pair.left->end();
  Stream stream(*pair.right, 0, 1, pair.workspace);
  stream.expect(16);
  stream.take(static_cast<int64_t>(stream.look(16).size()) / 4 * 4);
  const auto wait = [&] {
    for (int turn = 0; turn < 3; turn++) {
      EXPECT_LT(stream.look(8).size(), 4);
      const std::optional<pollfd> polled = pair.right->asleep(true, false);
      pair.right->awake(polled ? POLLIN : 0);  // none: it has something to take, for ever
    }
  };
  EXPECT_THROW(wait(), PeerLost);
}

TEST_P(Connections, AnEndIsNoticedWhileAForkedChildHasTheSocket) {
  Pair pair(GetParam());
  pair.left->end();
  pair.left.reset();
  pollfd polled = pair.right->asleep(true, false).value();
  ASSERT_EQ(poll(&polled, 1, 0), 1);
  pair.right->awake(polled.revents);
  EXPECT_THROW(pair.right->receive({}), PeerLost);
}

TEST(Reduce,
     TakesElementsFromAnyAddress) {  // in a connection's memory, after an odd number of bytes; for the sanitizer
  const std::vector<double> values = {1, 2, 3};
  std::vector<std::byte> shifted(3 * sizeof(double) + 3);
  std::memcpy(shifted.data() + 3, values.data(), 3 * sizeof(double));
  std::vector<double> sum = values;
  auto* bytes = reinterpret_cast<std::byte*>(sum.data());
  reduce(ElementType::kFloat64, ReduceOp::kSum, bytes, shifted.data() + 3, bytes, 3);
  EXPECT_EQ(sum, (std::vector<double>{2, 4, 6}));
}

int64_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

TEST(Arrivals, WhatStrangersHandOverIsClosed) {
  constexpr uint64_t kName = 20261122;
  std::vector<Descriptor> listeners;
  listeners.push_back(listen_nearby(kName + static_cast<uint64_t>(getpid())));
  Arrivals arrivals(std::move(listeners));
  const int64_t before = open_files();
  for (const int files : {1, 2, 20}) {
    const Descriptor stranger = connect_nearby(kName + static_cast<uint64_t>(getpid()));
    Hello hello{};
    iovec words{&hello, sizeof hello};
    alignas(cmsghdr) char control[CMSG_SPACE(20 * sizeof(int))]{};
    msghdr message{nullptr, 0, &words, 1, control, CMSG_SPACE(files * sizeof(int)), 0};
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    *header = {CMSG_LEN(files * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    std::memset(CMSG_DATA(header), 0, files * sizeof(int));  // standard input, again and again
    ASSERT_EQ(sendmsg(stranger.get(), &message, 0), sizeof hello);
    const size_t arrived = arrivals.take(1000).size();
    // what does not fit is lost, as memory is where no more files may be open: that rank cannot be talked to
    EXPECT_EQ(arrived, files == 20 ? 0 : 1);
  }
  EXPECT_EQ(open_files(), before);
}

/// Where strangers come, and how they do.
struct Door {
  explicit Door(uint64_t number) : name(number << 32 | static_cast<uint64_t>(getpid())) {
    std::vector<Descriptor> listeners;
    listeners.push_back(listen_nearby(name));
    arrivals.emplace(std::move(listeners));
  }

  Descriptor half_a_hello() const {
    Descriptor stranger = connect_nearby(name);
    EXPECT_EQ(send(stranger.get(), "seven..", 7, 0), 7);
    return stranger;
  }

  uint64_t name;
  std::optional<Arrivals> arrivals;
};

TEST(Arrivals, WhoDoesNotEndItsHelloInTimeIsForgotten) {
  Door door(1);
  const Descriptor stranger = door.half_a_hello();
  EXPECT_TRUE(door.arrivals->take(0).empty());
  EXPECT_EQ(door.arrivals->newcomers(), 1);
  const auto deadline = Clock::now() + Arrivals::kHelloDeadline;
  while (Clock::now() <= deadline) door.arrivals->take(100);
  door.arrivals->take(100);
  EXPECT_EQ(door.arrivals->newcomers(), 0);
}

TEST(Arrivals, OfTooManyHalfHellosTheOldestGo) {
  Door door(2);
  std::vector<Descriptor> strangers;
  for (size_t k = 0; k < 2 * Arrivals::kMostNewcomers; k++) {
    strangers.push_back(door.half_a_hello());
    ASSERT_TRUE(door.arrivals->take(0).empty());
    ASSERT_LE(door.arrivals->newcomers(), Arrivals::kMostNewcomers);
  }
  EXPECT_EQ(door.arrivals->newcomers(), Arrivals::kMostNewcomers);
  const Descriptor friendly = connect_nearby(door.name);
  introduce(friendly, {7, 3, 0}, Descriptor());
  const std::vector<Arrival> arrived = door.arrivals->take(1000);
  ASSERT_EQ(arrived.size(), 1);
  EXPECT_EQ(arrived[0].hello.rank, 3);
}

}  // namespace
}  // namespace hocket::executor
