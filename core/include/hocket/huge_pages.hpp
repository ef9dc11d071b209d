#pragma once

#include <cstddef>
#include <span>
#include <utility>
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

/// Makes room for one more, on huge pages where it is much.
template <typename T>
void make_room(std::vector<T>& table) {
  if (table.size() < table.capacity()) return;
  std::vector<T> larger;
  larger.reserve(2 * table.size() + 1);
  prefer_huge_pages(larger.data(), larger.capacity() * sizeof(T));
  larger.insert(larger.end(), table.begin(), table.end());
  table = std::move(larger);
}

/// The values on huge pages where they are many.
template <typename T>
std::vector<T> huge_copy(std::span<const T> values) {
  std::vector<T> table;
  table.reserve(values.size());
  prefer_huge_pages(table.data(), values.size_bytes());
  table.insert(table.end(), values.begin(), values.end());
  return table;
}

}  // namespace hocket
