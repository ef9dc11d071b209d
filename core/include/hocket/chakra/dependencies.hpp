#pragma once

#include <cstdint>
#include <vector>

#include "hocket/chakra/columns.hpp"

namespace hocket::chakra {

/// What is wrong with the dependencies of a trace; every vector is empty when nothing is. Rows, not ids, unless said.
struct DependencyFaults {
  std::vector<int64_t> duplicates;           ///< rows whose id an earlier row has
  std::vector<int64_t> dangling;             ///< rows with a dependency that is no node, once for each
  std::vector<uint64_t> dangling_id;         ///< and the id that is no node
  std::vector<std::vector<int64_t>> cycles;  ///< each row depends on the next, the last on the first
};

/// Cycles are found by depth-first search, at most `max_cycles` of them; data and control dependencies count alike.
DependencyFaults find_dependency_faults(const ColumnsView& columns, size_t max_cycles);

}  // namespace hocket::chakra
