#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hocket/nccl/tuner/table.hpp"

/// The fields of a tuner table's rows. All throw FormatError saying what was expected.
namespace hocket::nccl {

/// Without blanks, tabs and the end of a line around it.
std::string_view without_blanks(std::string_view text);

/// The fields of a row, without blanks and double quotes around them.
std::vector<std::string_view> split_row(std::string_view row);

/// Place of a name of `kind` among `names`, without regard to case and `_`; the error names the nearest.
int32_t parse_name(std::string_view field, std::string_view kind, std::span<const std::string_view> names);

/// The same, or kAny of an empty field or -1.
int32_t parse_name_or_any(std::string_view field, std::string_view kind, std::span<const std::string_view> names);

/// `8`, `2..8`, `16..`, `..8`; any of an empty field or -1.
Range parse_range(std::string_view field, std::string_view column);

/// Bytes: `65536`, `64KiB`; `otherwise` of an empty field or -1.
uint64_t parse_size(std::string_view field, std::string_view column, uint64_t otherwise);

/// From 1 to `most`; 0 of an empty field, 0 or -1.
int32_t parse_channels(std::string_view field, int32_t most);

/// A number that is finite and not negative.
double parse_constant(std::string_view field);

}  // namespace hocket::nccl
