#include "hocket/chakra/dependencies.hpp"

#include <algorithm>
#include <numeric>

namespace hocket::chakra {
namespace {

constexpr int64_t kNone = -1;

/// Finds the row of an id: the first one, where several rows have it.
/// Sorted instead of hashed: one array of eight bytes a node, and traces are mostly in order of their ids already.
class RowIndex {
 public:
  explicit RowIndex(std::span<const uint64_t> id) : id_(id), rows_(id.size()) {
    std::iota(rows_.begin(), rows_.end(), 0);
    std::ranges::stable_sort(rows_, {}, [&](int64_t row) { return id[row]; });
  }

  int64_t row(uint64_t id) const {
    const auto at = std::ranges::lower_bound(rows_, id, {}, [&](int64_t row) { return id_[row]; });
    return at != rows_.end() && id_[*at] == id ? *at : kNone;
  }

  std::vector<int64_t> duplicates() const {
    std::vector<int64_t> found;
    for (size_t k = 1; k < rows_.size(); k++) {
      if (id_[rows_[k]] == id_[rows_[k - 1]]) found.push_back(rows_[k]);
    }
    std::ranges::sort(found);
    return found;
  }

 private:
  std::span<const uint64_t> id_;
  std::vector<int64_t> rows_;
};

/// The rows that each row depends on.
struct Edges {
  std::vector<int64_t> offset{0};
  std::vector<int64_t> target;
};

/// Ids become rows. What points nowhere is a fault of the trace but no reason to stop: all faults are told at once.
Edges resolve(const ColumnsView& columns, DependencyFaults& faults) {
  const RowIndex index(columns.id);
  faults.duplicates = index.duplicates();
  Edges edges;
  const auto follow = [&](int64_t row, std::span<const int64_t> offset, std::span<const uint64_t> deps) {
    for (int64_t k = offset[row]; k < offset[row + 1]; k++) {
      if (const int64_t target = index.row(deps[k]); target != kNone) {
        edges.target.push_back(target);
      } else {
        faults.dangling.push_back(row);
        faults.dangling_id.push_back(deps[k]);
      }
    }
  };
  for (int64_t row = 0; row < static_cast<int64_t>(columns.size()); row++) {
    follow(row, columns.data_offset, columns.data_deps);
    follow(row, columns.ctrl_offset, columns.ctrl_deps);
    edges.offset.push_back(static_cast<int64_t>(edges.target.size()));
  }
  return edges;
}

/// Depth-first search with three colours; a back edge to an open node closes a cycle, which is the path from there on.
/// Iterative, for a chain of a million nodes would overflow the call stack. `next` is what is left of each node's
/// edges, so every edge is looked at once, and the first cycles are found in time linear in the trace.
std::vector<std::vector<int64_t>> find_cycles(const Edges& edges, size_t max_cycles) {
  enum class State : uint8_t { kNew, kOpen, kDone };
  const size_t num_rows = edges.offset.size() - 1;
  std::vector<State> state(num_rows, State::kNew);
  std::vector<int64_t> next(edges.offset.begin(), edges.offset.end() - 1);
  std::vector<int64_t> path;
  std::vector<std::vector<int64_t>> cycles;
  for (size_t start = 0; start < num_rows && cycles.size() < max_cycles; start++) {
    if (state[start] != State::kNew) continue;
    path.assign(1, static_cast<int64_t>(start));
    state[start] = State::kOpen;
    while (!path.empty()) {
      const int64_t row = path.back();
      if (next[row] == edges.offset[row + 1]) {
        state[row] = State::kDone;
        path.pop_back();
        continue;
      }
      const int64_t target = edges.target[next[row]++];
      if (state[target] == State::kNew) {
        state[target] = State::kOpen;
        path.push_back(target);
      } else if (state[target] == State::kOpen && cycles.size() < max_cycles) {
        cycles.emplace_back(std::ranges::find(path, target), path.end());
      }
    }
  }
  return cycles;
}

}  // namespace

DependencyFaults find_dependency_faults(const ColumnsView& columns, size_t max_cycles) {
  DependencyFaults faults;
  faults.cycles = find_cycles(resolve(columns, faults), max_cycles);
  return faults;
}

}  // namespace hocket::chakra
