#include "hocket/simulator/astra/program.hpp"

#include <algorithm>
#include <numeric>

#include "hocket/error.hpp"

namespace hocket::simulator::astra {
namespace {

bool are_offsets(std::span<const int64_t> offset, size_t size) {
  return !offset.empty() && offset.front() == 0 && offset.back() == static_cast<int64_t>(size) &&
         std::ranges::is_sorted(offset);
}

bool is_sound(const Columns& columns) {
  const size_t size = columns.action.size();
  for (const size_t length : {columns.resource.size(), columns.kind.size(), columns.duration_ns.size(),
                              columns.bytes.size(), columns.tag.size(), columns.priority.size(), columns.num_ops.size(),
                              columns.tensor_bytes.size(), columns.peer.size(), columns.group.size(),
                              columns.custom.size(), columns.dimensions.size(), columns.dependency_offset.size() - 1}) {
    if (length != size) return false;
  }
  return are_offsets(columns.rank_offset, size) && are_offsets(columns.dependency_offset, columns.dependency.size()) &&
         std::ranges::all_of(columns.dependency,
                             [&](int64_t row) { return row >= 0 && row < static_cast<int64_t>(size); });
}

}  // namespace

Program::Program(const Columns& columns) : Columns(columns) {
  if (!is_sound(columns)) throw TraceError("columns of a program differ in length, or an index points outside");
  // Dependencies turned round by counting sort; dependents ascend, which is the order in which they are issued.
  dependents_offset_.assign(action.size() + 1, 0);
  for (const int64_t row : dependency) dependents_offset_[row + 1]++;
  std::partial_sum(dependents_offset_.begin(), dependents_offset_.end(), dependents_offset_.begin());
  dependents_.resize(dependency.size());
  std::vector<uint32_t> next(dependents_offset_.begin(), dependents_offset_.end() - 1);
  for (uint32_t node = 0; node < num_nodes(); node++) {
    for (int64_t at = dependency_offset[node]; at < dependency_offset[node + 1]; at++) {
      dependents_[next[dependency[at]]++] = node;
    }
  }
}

}  // namespace hocket::simulator::astra
