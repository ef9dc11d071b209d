#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "hocket/chakra/columns.hpp"

namespace hocket::chakra {

/// What records of a `.et` file hold. `strings` point into the bytes that were read.
struct Nodes {
  Columns columns;
  /// Names and process groups, each once, in order of first appearance; not yet checked to be UTF-8.
  OwnedColumn<std::string_view> strings;
};

/// Where records stand in their file, for errors.
struct Place {
  std::string_view source;
  uint64_t byte = 0;  ///< of the first record
  uint64_t row = 0;   ///< and its number among the nodes
};

/// How many of the bytes are whole records (varint length, message) at their beginning: the others are part of the
/// next. Throws FormatError for a length that is no varint.
size_t whole_records(std::span<const uint8_t> bytes, const Place& place);

/// Reads Node records: varint length and message, up to the end of `records`; `keep_rest` fills the column `rest`.
///
/// An integer attribute may use any integer member of the oneof. Throws FormatError naming the source, the byte offset
/// and the node for whatever is truncated, of another schema, or out of range.
Nodes read_nodes(std::span<const uint8_t> records, const Place& place, bool keep_rest = false);

}  // namespace hocket::chakra
