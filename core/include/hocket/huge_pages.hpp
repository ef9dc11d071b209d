#pragma once

#include <cstddef>
#include <vector>

namespace hocket {

/// Asks the system to back memory that has not been touched yet with huge pages: a hint, for large tables that are
/// read here and there.
void prefer_huge_pages(void* begin, size_t bytes);

/// A table of zeros, on huge pages where the system has them.
template <typename T>
std::vector<T> huge_table(size_t size) {
  std::vector<T> table;
  table.reserve(size);
  prefer_huge_pages(table.data(), size * sizeof(T));
  table.resize(size);
  return table;
}

}  // namespace hocket
