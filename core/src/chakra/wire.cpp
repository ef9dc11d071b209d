#include "wire.hpp"

namespace hocket::chakra::wire {

// Out of line: ids and small numbers take one or two bytes, which the header handles.
uint64_t Cursor::long_varint() {
  const uint8_t* start = at_;
  uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) throw Malformed(start, "truncated in the middle of a varint");
    const uint8_t byte = *at_++;
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  throw Malformed(start, "a varint has at most 10 bytes");
}

}  // namespace hocket::chakra::wire
