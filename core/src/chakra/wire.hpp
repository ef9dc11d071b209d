#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hocket::chakra::wire {

enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

constexpr uint32_t tag(uint32_t field, WireType type) { return field << 3 | type; }

/// The bytes at `at` are not protobuf wire format, or not of this schema.
struct Malformed : std::runtime_error {
  Malformed(const uint8_t* position, const std::string& what) : std::runtime_error(what), at(position) {}
  const uint8_t* at;
};

/// Reads protobuf's wire format from a span of bytes. Every read throws Malformed rather than pass the end.
/// A file is not to be trusted: lengths are compared with what is left before anything is read, never added first.
class Cursor {
 public:
  explicit Cursor(std::span<const uint8_t> bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool at_end() const { return at_ == end_; }
  const uint8_t* position() const { return at_; }

  uint64_t varint() {
    if (at_ != end_ && at_[0] < 0x80) [[likely]] {
      return *at_++;
    }
    if (end_ - at_ >= 2 && at_[1] < 0x80) [[likely]] {
      at_ += 2;
      return (at_[-2] & 0x7Fu) | static_cast<uint32_t>(at_[-1]) << 7;
    }
    return long_varint();
  }

  /// The key of the next field.
  uint32_t key() {
    const uint8_t* start = at_;
    const uint64_t key = varint();
    constexpr uint64_t kLeast = tag(1, kVarint);
    // Field 0 wraps round to the largest number: one comparison for both ends.
    if (key - kLeast > UINT32_MAX - kLeast) [[unlikely]] {
      throw Malformed(start, "no field has the key " + std::to_string(key));
    }
    return static_cast<uint32_t>(key);
  }

  std::span<const uint8_t> bytes() {
    const uint8_t* start = at_;
    const uint64_t length = varint();
    if (length > static_cast<uint64_t>(end_ - at_)) [[unlikely]] {
      throw Malformed(
          start, "truncated: " + std::to_string(length) + " bytes announced, " + std::to_string(end_ - at_) + " left");
    }
    at_ += length;
    return {at_ - length, length};
  }

  std::string_view text() {
    const auto span = bytes();
    return {reinterpret_cast<const char*>(span.data()), span.size()};
  }

  /// A little-endian number of 4 or 8 bytes.
  template <typename T>
  T fixed() {
    if (end_ - at_ < static_cast<ptrdiff_t>(sizeof(T))) {
      throw Malformed(
          at_, "truncated: " + std::to_string(sizeof(T)) + " bytes expected, " + std::to_string(end_ - at_) + " left");
    }
    T value;
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  /// Passes over the value of a field whose key has been read.
  void skip(uint32_t key) {
    switch (key & 7) {
      case kVarint:
        varint();
        return;
      case kFixed64:
        fixed<uint64_t>();
        return;
      case kBytes:
        bytes();
        return;
      case kFixed32:
        fixed<uint32_t>();
        return;
      default:
        throw Malformed(at_, "wire type " + std::to_string(key & 7) + " does not exist in proto3");
    }
  }

 private:
  uint64_t long_varint();

  const uint8_t* at_;
  const uint8_t* end_;
};

/// Undoes the zigzag coding of sint32 and sint64.
constexpr int64_t unzigzag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

inline void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

inline void put_text(std::string& out, uint32_t key, std::string_view text) {
  put_varint(out, key);
  put_varint(out, text.size());
  out.append(text);
}

constexpr size_t varint_size(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) {
    size++;
  }
  return size;
}

}  // namespace hocket::chakra::wire
