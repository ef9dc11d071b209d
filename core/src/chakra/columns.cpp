#include "hocket/chakra/columns.hpp"

#include <algorithm>
#include <string>

#include "hocket/error.hpp"

namespace hocket::chakra {
namespace {

void check_lists(const char* name, std::span<const int64_t> offset, size_t num_nodes, size_t num_items) {
  const bool sound = offset.size() == num_nodes + 1 && offset.front() == 0 &&
                     offset.back() == static_cast<int64_t>(num_items) && std::ranges::is_sorted(offset);
  if (!sound) throw TraceError(std::string(name) + " is not a row of ascending offsets into its lists");
}

}  // namespace

// Columns come from Python, where anybody may have changed them: checked once, so that the writer indexes without
// looking.
void TraceView::check() const {
  ColumnsView view = columns;
  view.each_attribute([&](const char* name, const auto& column) {
    if (column.size() != columns.size()) {
      throw TraceError(std::string("column ") + name + " has " + std::to_string(column.size()) + " rows, id has " +
                       std::to_string(columns.size()));
    }
  });
  check_lists("data_offset", columns.data_offset, columns.size(), columns.data_deps.size());
  check_lists("ctrl_offset", columns.ctrl_offset, columns.size(), columns.ctrl_deps.size());
  check_lists("rest_offset", columns.rest_offset, columns.size(), columns.rest.size());
  const auto num_strings = static_cast<int64_t>(strings.size());
  const auto is_text = [num_strings](int32_t index) { return index >= -1 && index < num_strings; };
  for (size_t row = 0; row < columns.size(); row++) {
    if (columns.name[row] < 0 || !is_text(columns.name[row]) || !is_text(columns.process_group[row]) ||
        !is_text(columns.dtype[row]) || !is_text(columns.in_splits[row])) {
      throw TraceError("row " + std::to_string(row) +
                       ": name, process_group, dtype or in_splits is no index into the strings");
    }
    if (columns.type[row] >= kNumNodeTypes) {
      throw TraceError("row " + std::to_string(row) + ": no node type has the number " +
                       std::to_string(columns.type[row]));
    }
  }
}

}  // namespace hocket::chakra
