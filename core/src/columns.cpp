#include "hocket/columns.hpp"

#include <string>

#include "hocket/error.hpp"

namespace hocket {

void check_size(size_t size, size_t wanted, std::string_view what) {
  if (size == wanted) return;
  throw Error(std::string(what) + ": " + std::to_string(wanted) + " entries are needed, got " + std::to_string(size));
}

void check_ids(std::span<const int32_t> ids, int64_t limit, std::string_view what) {
  for (const int32_t id : ids) check_within(id, 0, limit - 1, what);
}

void check_within(int64_t value, int64_t least, int64_t most, std::string_view what) {
  if (value >= least && value <= most) return;
  throw Error(std::string(what) + ": " + std::to_string(value) + " is not within " + std::to_string(least) + ".." +
              std::to_string(most));
}

void check_within(std::span<const int64_t> values, int64_t least, int64_t most, std::string_view what) {
  for (const int64_t value : values) check_within(value, least, most, what);
}

}  // namespace hocket
