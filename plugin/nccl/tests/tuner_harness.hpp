/// Plays NCCL's part against the tuner plugin, without NCCL or a GPU: opens the library as NCCL does and makes its
/// calls in its order.
#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "../tuner/abi.hpp"
#include "fresh_library.hpp"

namespace hocket::nccl::testing {

/// What the tuner said through NCCL's logger.
inline std::vector<std::string> tuner_said;

inline void tuner_log(int level, unsigned long, const char*, int, const char* format, ...) {
  static std::mutex writing;
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const std::lock_guard lock(writing);
  tuner_said.push_back((level == kWarn ? "WARN " : "INFO ") + std::string(text));
}

/// What NCCL asks and what it takes from the answer.
struct Call {
  int function = kAllReduce;
  size_t bytes = 0;
  int pipe_operations = 1;
  int registered = 0;
};

struct Taken {
  int algorithm;
  int protocol;
  int channels;
  bool operator==(const Taken&) const = default;
};

/// A cost of 10 us for all, and for each after the first a little more; what NCCL has no kernel for is -1.
struct Costs {
  explicit Costs(int algorithms = kAlgorithms) : algorithms(algorithms) {
    for (size_t at = 0; at < table.size(); ++at) table[at] = 10.0f + static_cast<float>(at);
  }
  float& at(int algorithm, int protocol) { return table[static_cast<size_t>(algorithm * kProtocols + protocol)]; }

  std::array<float, size_t{kAlgorithms} * size_t{kProtocols}> table;
  int algorithms;
};

/// One communicator of one rank, by one version of the interface.
template <class Table>
class Tuner {
 public:
  explicit Tuner(const Table& table) : table_(table) {}

  Result init(size_t ranks, size_t nodes, std::optional<DomainInfo> domains = {}, Constants* constants = nullptr,
              Logger log = tuner_log) {
    if constexpr (std::is_base_of_v<Tuner5, Table>) {
      return table_.init(&context_, 0xabc, ranks, nodes, log, domains ? &*domains : nullptr, constants);
    } else {
      return table_.init(ranks, nodes, log, &context_);
    }
  }

  /// The plugin's answer as topoGetAlgoInfo reads it: the cheapest of those that are available.
  Taken ask(const Call& call, Costs costs = Costs()) const {
    int channels = 0;
    auto** const table = reinterpret_cast<float**>(costs.table.data());
    Result result;
    if constexpr (std::is_same_v<Table, Tuner3>) {
      result = table_.get_collective(context_, call.function, call.bytes, call.pipe_operations, table, costs.algorithms,
                                     kProtocols, &channels);
    } else {
      result = table_.get_collective(context_, call.function, call.bytes, call.pipe_operations, table, costs.algorithms,
                                     kProtocols, call.registered, &channels);
    }
    EXPECT_EQ(result, kSuccess);
    Taken taken{-1, -1, channels};
    float least = 3e38f;
    for (int a = 0; a < costs.algorithms; ++a) {
      for (int p = 0; p < kProtocols; ++p) {
        const float cost = costs.at(a, p);
        if (cost >= 0 && cost < least) taken = {a, p, channels}, least = cost;
      }
    }
    return taken;
  }

  size_t chunk(const Call& call, int algorithm, int protocol, size_t chunk) const
    requires std::is_same_v<Table, Tuner6>
  {
    EXPECT_EQ(table_.get_chunk(context_, call.function, call.bytes, algorithm, protocol, 8, &chunk), kSuccess);
    return chunk;
  }

  void finalize() {
    if constexpr (std::is_base_of_v<Tuner5, Table>) {
      EXPECT_EQ(table_.finalize(context_), kSuccess);
    } else {
      EXPECT_EQ(table_.destroy(context_), kSuccess);
    }
  }

 private:
  const Table& table_;
  void* context_ = nullptr;
};

/// A test with a table of its own.
class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tuner_said.clear();
    const char* name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    path_ = std::filesystem::temp_directory_path() / ("hocket_tuner." + std::to_string(getpid()) + "." + name);
    setenv("HOCKET_NCCL_TUNER_TABLE", path_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("HOCKET_NCCL_TUNER_TABLE");
    unsetenv("NCCL_TUNER_CONFIG_FILE");
    std::filesystem::remove(path_);
  }

  void write(const std::string& text) const { std::ofstream(path_) << text; }

  Tuner<Tuner6> six() const { return Tuner<Tuner6>(library_.table<Tuner6>("ncclTunerPlugin_v6")); }

  std::filesystem::path path_;
  FreshLibrary library_{HOCKET_NCCL_TUNER};
};

}  // namespace hocket::nccl::testing
