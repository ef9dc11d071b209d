#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hocket {

/// Throws Error, calling the column `what`, unless it has `wanted` entries.
void check_size(size_t size, size_t wanted, std::string_view what);

/// Throws Error, calling the column `what`, unless all its ids are in 0..limit-1.
void check_ids(std::span<const int32_t> ids, int64_t limit, std::string_view what);

/// Throws Error, calling it `what`, unless `value` is in least..most.
void check_within(int64_t value, int64_t least, int64_t most, std::string_view what);

/// Throws Error, calling the column `what`, unless all its values are in least..most.
void check_within(std::span<const int64_t> values, int64_t least, int64_t most, std::string_view what);

}  // namespace hocket
