#pragma once

#include <span>
#include <string_view>

#include "hocket/chakra/columns.hpp"

namespace hocket::chakra {

/// What a `.et` file holds. `strings` and `metadata` point into the bytes that were read.
struct TraceFile {
  Columns columns;
  /// Names and process groups, each once, in order of first appearance; not yet checked to be UTF-8.
  OwnedColumn<std::string_view> strings;
  /// The serialized GlobalMetadata message.
  std::string_view metadata;
};

/// Reads a whole `.et` file: varint length and GlobalMetadata, then varint length and Node up to the end.
///
/// An integer attribute may use any integer member of the oneof. Throws FormatError naming `source`, the byte offset
/// and the node for whatever is truncated, of another schema, or out of range.
TraceFile read(std::span<const uint8_t> file, std::string_view source);

}  // namespace hocket::chakra
