#include "hocket/translator/lowering.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>

#include "hocket/error.hpp"
#include "hocket/schedule/shared_clocks.hpp"

namespace hocket::translator {
namespace {

/// A list of operations for each operation, in one array.
struct Lists {
  std::vector<int64_t> first{0};
  std::vector<int64_t> ids;

  std::span<const int64_t> of(int64_t operation) const {
    return {ids.data() + first[operation], ids.data() + first[operation + 1]};
  }
  void end_list() { first.push_back(std::ssize(ids)); }
};

/// For each operation, the earlier ones whose accesses it must not overtake: read after write, write after write,
/// write after read.
/// Every pair that matters is found against the last write and the reads since: earlier ones are ordered by these.
Lists find_conflicts(std::span<const Operation> operations) {
  struct History {
    int64_t write = -1;
    std::vector<int64_t> reads;  ///< since the write
  };
  std::unordered_map<int64_t, History> histories;
  Lists conflicts;
  for (int64_t o = 0; o < std::ssize(operations); o++) {
    const Operation& operation = operations[o];
    for (int32_t k = 0; k < operation.count && operation.reads >= 0; k++) {
      History& history = histories[operation.reads + k];
      if (history.write >= 0) conflicts.ids.push_back(history.write);
      history.reads.push_back(o);
    }
    for (int32_t k = 0; k < operation.count && operation.writes >= 0; k++) {
      History& history = histories[operation.writes + k];
      if (history.write >= 0) conflicts.ids.push_back(history.write);
      for (const int64_t reader : history.reads) {
        if (reader != o) conflicts.ids.push_back(reader);
      }
      history.write = o;
      history.reads.clear();
    }
    conflicts.end_list();
  }
  return conflicts;
}

/// Topological order, the least priority first among those that may come next.
/// Why a global order matters: if all blocks do their operations in one order in which every message is sent before it
/// is received, the least unfinished operation can always go, even with connections of a single slot. So no program
/// that comes out of here can deadlock, whatever depth the runtime's FIFOs have (MSCCL's depend on the protocol and
/// size).
std::vector<int64_t> sort(std::span<const Operation> operations, const Lists& conflicts) {
  std::vector<int32_t> missing(operations.size());
  Lists followers{std::vector<int64_t>(operations.size() + 2), {}};
  const auto for_each_pair = [&](const auto& visit) {
    for (int64_t o = 0; o < std::ssize(operations); o++) {
      for (const int64_t before : conflicts.of(o)) visit(before, o);
      if (operations[o].message >= 0) visit(operations[o].message, o);
      if (operations[o].after >= 0) visit(operations[o].after, o);
    }
  };
  for_each_pair([&](int64_t before, int64_t operation) {
    followers.first[before + 2]++;
    missing[operation]++;
  });
  std::partial_sum(followers.first.begin(), followers.first.end(), followers.first.begin());
  followers.ids.resize(followers.first.back());
  for_each_pair([&](int64_t before, int64_t operation) { followers.ids[followers.first[before + 1]++] = operation; });
  using Entry = std::pair<int64_t, int64_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (int64_t o = 0; o < std::ssize(operations); o++) {
    if (missing[o] == 0) ready.push({operations[o].priority, o});
  }
  std::vector<int64_t> order;
  order.reserve(operations.size());
  while (!ready.empty()) {
    const int64_t o = ready.top().second;
    ready.pop();
    order.push_back(o);
    for (const int64_t follower : followers.of(o)) {
      if (--missing[follower] == 0) ready.push({operations[follower].priority, follower});
    }
  }
  if (order.size() < operations.size()) {
    throw ScheduleError(std::to_string(operations.size() - order.size()) +
                        " sends and receives wait for each other unless connections hold several messages: ranks "
                        "exchange the same chunks while earlier messages are under way; use more channels, or a "
                        "schedule whose exchanges do not overlap");
  }
  return order;
}

/// Drops the conflicts that something else orders already.
/// Vector clocks as in the race check: a dependency is kept only if neither its block's order nor a message nor another
/// kept one implies it. A transitive reduction, which matters because a step of MSCCL's waits for one other step; each
/// more costs a `nop` step.
class DependencyReducer {
 public:
  DependencyReducer(std::span<const Operation> operations, std::span<const int64_t> order, const Lists& conflicts,
                    int32_t num_blocks)
      : operations_(operations),
        conflicts_(conflicts),
        index_(operations.size()),
        previous_(operations.size(), -1),
        local_(num_blocks),
        clock_(operations.size(), -1),
        kept_(operations.size()) {
    std::vector<int32_t> count(num_blocks);
    std::vector<int64_t> last(num_blocks, -1);
    for (const int64_t o : order) {
      const int32_t block = operations[o].block;
      index_[o] = count[block]++;
      previous_[o] = std::exchange(last[block], o);
    }
  }

  /// Decides for all operations of `rank`, whose blocks are `blocks`, by the order among `followed`: some operations in
  /// the order of all, those of the rank among them. The more there are the more they imply.
  void reduce(int32_t rank, std::span<const int32_t> blocks, std::span<const int64_t> followed) {
    for (int32_t number = 0; number < std::ssize(blocks); number++) local_[blocks[number]] = number;
    for (int64_t position = 0; position < std::ssize(followed); position++) clock_[followed[position]] = position;
    schedule::SharedClocks clocks(std::ssize(followed), std::ssize(blocks));
    for (const int64_t o : followed) {
      const int64_t message = operations_[o].message;
      if (previous_[o] >= 0) clocks.join(clock_[o], clock_[previous_[o]]);
      if (message >= 0 && clock_[message] >= 0) clocks.join(clock_[o], clock_[message]);
      // Before its conflicts are joined: else each would imply itself.
      if (operations_[o].rank == rank) keep(o, clocks);
      for (const int64_t before : conflicts_.of(o)) clocks.join(clock_[o], clock_[before]);
      if (operations_[o].rank == rank) clocks.tick(clock_[o], local_[operations_[o].block], index_[o]);
    }
    for (const int64_t o : followed) clock_[o] = -1;
  }

  Lists dependencies() const {
    Lists lists;
    for (const auto& kept : kept_) {
      lists.ids.insert(lists.ids.end(), kept.begin(), kept.end());
      lists.end_list();
    }
    return lists;
  }

 private:
  /// Whether `before` is done before `after` is, as far as its clock says now.
  bool implied(int64_t before, int64_t after, const schedule::SharedClocks& clocks) const {
    return clocks.covers(clock_[after], local_[operations_[before].block], index_[before]);
  }

  void keep(int64_t o, const schedule::SharedClocks& clocks) {
    std::vector<int64_t> open;
    for (const int64_t before : conflicts_.of(o)) {
      if (operations_[before].block == operations_[o].block || implied(before, o, clocks)) continue;
      if (std::find(open.begin(), open.end(), before) == open.end()) open.push_back(before);
    }
    for (const int64_t before : open) {
      const auto covers = [&](int64_t other) { return other != before && implied(before, other, clocks); };
      if (std::none_of(open.begin(), open.end(), covers)) kept_[o].push_back(before);
    }
  }

  std::span<const Operation> operations_;
  const Lists& conflicts_;
  std::vector<int32_t> index_;     ///< position in its block
  std::vector<int64_t> previous_;  ///< operation before it in its block
  std::vector<int32_t> local_;     ///< number of each block within its rank
  std::vector<int64_t> clock_;     ///< of each operation that is followed; -1: the others
  std::vector<std::vector<int64_t>> kept_;
};

}  // namespace

Lowering lower(std::span<const Operation> operations, int32_t num_ranks, int32_t num_blocks,
               int64_t max_clock_entries) {
  const Lists conflicts = find_conflicts(operations);
  std::vector<int64_t> order = sort(operations, conflicts);
  std::vector<std::vector<int32_t>> blocks(num_ranks);
  std::vector<std::vector<int64_t>> own(num_ranks);
  std::vector<bool> known(num_blocks);
  for (const Operation& operation : operations) {
    if (known[operation.block]) continue;
    known[operation.block] = true;
    blocks[operation.rank].push_back(operation.block);
  }
  for (const int64_t o : order) own[operations[o].rank].push_back(o);
  DependencyReducer reducer(operations, order, conflicts, num_blocks);
  // What messages through other ranks imply takes a clock for every operation; beyond a limit of memory the order
  // within a rank has to do, which keeps more dependencies than needed and never fewer.
  const bool follow_messages = std::ssize(operations) * num_blocks <= max_clock_entries;
  for (int32_t rank = 0; rank < num_ranks; rank++)
    reducer.reduce(rank, blocks[rank], follow_messages ? order : own[rank]);
  Lists kept = reducer.dependencies();
  return {std::move(order), std::move(kept.first), std::move(kept.ids)};
}

}  // namespace hocket::translator
