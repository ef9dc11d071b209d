#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hocket::translator {

/// Half of a transfer (a send or a receive) or a local copy: `count` locations from `reads` on are read, from `writes`
/// on are written (-1: none). Locations of different ranks are different.
struct Operation {
  int32_t block;  ///< the thread block that does it
  int32_t rank;   ///< the rank it happens on
  int32_t count;  ///< locations of each access
  int64_t reads;
  int64_t writes;
  int64_t message;   ///< a receive: the operation that sends the message; else -1
  int64_t after;     ///< an operation that must come before in the order, without being waited for; -1: none
  int64_t priority;  ///< among operations free to come next, the least comes first
};

/// The order in which every thread block lists its operations, and what each must wait for besides.
struct Lowering {
  std::vector<int64_t> order;
  /// Operation o waits for `dependencies[first_dependency[o]] .. dependencies[first_dependency[o + 1] - 1]`, all on
  /// its own rank, at most one of each block, none implied by another, by its block's order or by its message, nor,
  /// where messages are followed, by a way of messages through other ranks.
  std::vector<int64_t> first_dependency;
  std::vector<int64_t> dependencies;
};

/// Puts operations, given in an order in which their accesses mean what they should, into one global order that keeps
/// the order of conflicting accesses, sends before receives, and every `after`. If `after` of each send is the receive
/// of the message before it on its connection, the blocks cannot deadlock at any FIFO depth: the first unfinished
/// operation of the order never waits. (A message that a connection cannot hold at once needs its receiver meanwhile:
/// the caller cuts those that leave a place while it is written, or reach one while it is sent.) Raises ScheduleError
/// when no such order exists.
///
/// Messages are followed through all ranks if that takes no more than `max_clock_entries`, the product of operations
/// and blocks; else a few dependencies are kept that they imply.
Lowering lower(std::span<const Operation> operations, int32_t num_ranks, int32_t num_blocks, int64_t max_clock_entries);

}  // namespace hocket::translator
