#pragma once

#include <string>

#include "hocket/chakra/columns.hpp"

namespace hocket::chakra {

/// Appends rows `begin` to `end` (exclusive) of a checked trace to `out`, each as varint length and Node message, with
/// the attribute types that MLCommons' tools write and the bytes that protobuf would write.
/// Throws TraceError when a value does not fit the type of its attribute.
void append_nodes(const TraceView& trace, size_t begin, size_t end, std::string& out);

}  // namespace hocket::chakra
