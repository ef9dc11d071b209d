#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace hocket::chakra {

/// What the threads of a rank did: a row a call, and a row a span of computation that is known by name. Times are ns.
/// The spans of a thread stand in order and do not overlap.
struct Activity {
  /// Stands in `wait_end` of a call that nobody waited for, and in `batch`.
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::min();

  std::span<const int64_t> start;
  std::span<const int64_t> thread;
  std::span<const int64_t> wait_begin;
  std::span<const int64_t> wait_end;
  std::span<const int64_t> wait_thread;
  std::span<const int64_t> batch;  ///< calls of one batch are issued at once; kNone where a call is in none
  std::span<const int64_t> marks;  ///< ascending: what is computed is cut there; the first is where all begins
  std::span<const int64_t> span_begin;
  std::span<const int64_t> span_end;
  std::span<const int64_t> span_thread;
  int64_t main = 0;  ///< this thread computes until `end`, the others until their last event
  int64_t end = 0;
};

/// Calls and computation as nodes with data dependencies, a row a node in order of time.
struct ThreadNodes {
  static constexpr int64_t kGap = -1;  ///< computation that no span names

  std::vector<int64_t> what;  ///< the call's row, kGap, or -2 - the span's row
  std::vector<int64_t> begin;
  std::vector<int64_t> end;  ///< a call's is its begin
  std::vector<int64_t> deps_offset;
  std::vector<uint64_t> deps;
  std::vector<int64_t> mark_nodes;  ///< for each mark, how many nodes precede it
};

/// Each thread is a chain: what it computes depends on what it did before, a call on the computation before its issue,
/// and what follows a wait on the call waited for, in place of what that call itself depends on. Between issue and wait
/// both run side by side. Throws TraceError when columns of one table differ in length, or there is no mark.
ThreadNodes chain_threads(const Activity& activity);

}  // namespace hocket::chakra
