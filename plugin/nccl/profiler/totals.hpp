/// Totals of calls alike, for the metrics and the table at the end.
#pragma once
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "record.hpp"

namespace hocket::nccl {

struct Communicator {
  Communicator(uint64_t id, uint32_t number, int rank, int ranks) : id(id), number(number), rank(rank), ranks(ranks) {}

  uint64_t id;
  uint32_t number;
  int rank;
  int ranks;
};

/// The calls of one communicator that are alike in function, elements, datatype, algorithm, protocol and channels.
struct Total {
  std::atomic<int> state{0};  // 0: free, 1: being filled, 2: in use.
  const Communicator* communicator = nullptr;
  Call call{};
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> timed{0};  // Calls whose end is known by kernels or proxies.
  std::atomic<int64_t> timed_ns{0};

  /// Bytes as nccl-tests counts them (an all_gather's is what every rank ends with); 0 for an unknown datatype.
  uint64_t bytes() const;
  /// Bus bandwidth by nccl-tests' rule, for one of algorithm bandwidth.
  double bus_factor() const;
};

/// Fixed in size: a job that never repeats a size must not grow by being watched.
class Totals {
 public:
  static constexpr uint32_t kMost = 1024;

  Totals() : totals_(std::make_unique<Total[]>(kCells)) {}

  /// The total of such calls, found or begun, without locks; null when there are too many.
  Total* find(const Communicator& communicator, const Call& call);
  /// Counts a call for what Find found for it.
  void count(Total* total) { ++(total == nullptr ? uncounted_ : total->calls); }

  /// Writes the table, one line a total, in order of function and size.
  void write_table(std::FILE* file) const;
  /// Writes Prometheus' text format.
  void write_metrics(std::FILE* file, const FileHeader& header) const;

 private:
  /// More than are used, so that what is not there is soon known not to be.
  static constexpr size_t kCells = 2 * kMost;

  const std::unique_ptr<Total[]> totals_;
  std::atomic<uint32_t> used_{0};
  std::atomic<uint64_t> uncounted_{0};
};

}  // namespace hocket::nccl
