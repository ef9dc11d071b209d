/// Plays NCCL's part against the profiler plugin, without NCCL or a GPU: opens the library as NCCL does, makes its
/// calls in its order, and reads the file that the process leaves.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "../profiler/abi.hpp"
#include "../profiler/record.hpp"
#include "fresh_library.hpp"

namespace hocket::nccl::testing {

/// What the plugin said through NCCL's logger.
inline std::vector<std::string> said;

inline void log(int, unsigned long, const char*, int, const char* format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  said.push_back(text);
}

/// One communicator of one rank, by one version of the interface.
template <class Table, class Descriptor>
class Player {
 public:
  explicit Player(const Table& table) : table_(table) {}

  Result init(int rank = 3, const char* name = "dp0", uint64_t id = 0xabcdef12345) {
    if constexpr (std::is_same_v<Table, Profiler4>) {
      return table_.init(&context_, &mask, name, id, 2, 16, rank, log);
    } else {
      return table_.init(&context_, id, &mask, name, 2, 16, rank, log);
    }
  }
  void finalize() { EXPECT_EQ(table_.finalize(context_), kSuccess); }

  template <class Fill>
  void* start(uint64_t type, void* parent, Fill fill) const {
    Descriptor descriptor;
    std::memset(static_cast<void*>(&descriptor), 0, sizeof descriptor);
    descriptor.type = static_cast<decltype(descriptor.type)>(type);
    descriptor.parent = parent;
    descriptor.rank = 3;
    fill(descriptor);
    void* event = reinterpret_cast<void*>(1);
    EXPECT_EQ(table_.start_event(context_, &event, &descriptor), kSuccess);
    return event;
  }
  void* start(uint64_t type, void* parent = nullptr) const {
    return start(type, parent, [](Descriptor&) {});
  }
  void* collective(uint64_t sequence, void* parent = nullptr, size_t count = 1024) const {
    return start(kCollective, parent, [&](Descriptor& descriptor) {
      auto& call = descriptor.collective;
      call.sequence = sequence;
      call.function = "AllReduce";
      call.count = count;
      call.datatype = "ncclFloat32";
      call.channels = 2;
      call.warps = 17;
      call.algorithm = "RING";
      call.protocol = "SIMPLE";
    });
  }
  void* proxy_operation(void* parent, int pid = getpid()) const {
    return start(kProxyOperation, parent,
                 [&](Descriptor& descriptor) { descriptor.proxy_operation = {pid, 1, 4, 8, 1 << 20, 1}; });
  }
  void* kernel_channel(void* parent, uint8_t channel, uint64_t timer) const {
    return start(kKernelChannel, parent, [&](Descriptor& descriptor) { descriptor.kernel_channel = {channel, timer}; });
  }
  void state(void* event, int state, StateArguments arguments) const {
    EXPECT_EQ(table_.record_event_state(event, state, &arguments), kSuccess);
  }
  void kernel_stop(void* event, uint64_t timer) const { state(event, kKernelChannelStop, {.gpu_timer = timer}); }
  void transferred(void* event, size_t bytes) const { state(event, kSendWait, {.transferred_bytes = bytes}); }
  void stop(void* event) const { EXPECT_EQ(table_.stop_event(event), kSuccess); }

  int mask = 0;  // As before the first communicator.

 private:
  const Table& table_;
  void* context_ = nullptr;
};

using Player4 = Player<Profiler4, Descriptor4>;
using Player5 = Player<Profiler<Descriptor5>, Descriptor5>;
using Player6 = Player<Profiler<Descriptor6>, Descriptor6>;
using Player7 = Player<Profiler<Descriptor7>, Descriptor7>;

/// What a file holds: its header, and the records of every kind in the order in which they were started.
struct Profile {
  FileHeader header;
  std::map<uint32_t, std::vector<Record>> records;
};

/// A test with a folder of its own and the variables it sets.
class ProfilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    said.clear();
    const char* info = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::temp_directory_path() / ("hocket_nccl." + std::to_string(getpid()) + "." + info);
    set("HOCKET_NCCL_PROFILE", folder_ / "deep");
  }
  void TearDown() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    std::filesystem::remove_all(folder_);
  }

  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

  std::string text(const std::string& suffix, pid_t pid = getpid()) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "deep")) {
      const std::string name = entry.path().filename();
      if (name.find("." + std::to_string(pid) + ".") == name.npos || !name.ends_with(suffix)) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      return {std::istreambuf_iterator<char>(file), {}};
    }
    ADD_FAILURE() << "no file *" << suffix;
    return std::string(kHeaderBytes, '\0');
  }

  Profile read(pid_t pid = getpid()) const {
    const std::string bytes = text(".ncclprofile", pid);
    Profile profile;
    std::memcpy(&profile.header, bytes.data(), sizeof profile.header);
    for (size_t at = kHeaderBytes; at < bytes.size(); at += sizeof(Record)) {
      Record record;
      std::memcpy(&record, bytes.data() + at, sizeof record);
      if (record.call.kind != 0) profile.records[record.call.kind].push_back(record);
    }
    return profile;
  }

  std::filesystem::path folder_;

 private:
  std::vector<std::string> set_;
};

}  // namespace hocket::nccl::testing
