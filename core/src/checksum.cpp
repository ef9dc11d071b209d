#include "hocket/checksum.hpp"

#include <array>

namespace hocket {
namespace {

using Tables = std::array<std::array<uint32_t, 256>, 8>;

/// Table k says what a byte does to the checksum when k bytes follow it ("slicing by 8", Kounavis and Berry 2005).
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320u : 0u);
    tables[0][byte] = value;
  }
  for (size_t table = 1; table < tables.size(); table++) {
    for (uint32_t byte = 0; byte < 256; byte++) {
      const uint32_t value = tables[table - 1][byte];
      tables[table][byte] = (value >> 8) ^ tables[0][value & 255];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

uint32_t little_endian(const uint8_t* bytes) {
  return bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16 | uint32_t{bytes[3]} << 24;
}

}  // namespace

// The CRC-32 of zlib, PNG and gzip (polynomial 0x04C11DB7, reflected), so that Python's zlib.crc32 checks the same.
uint32_t crc32(std::span<const uint8_t> bytes, uint32_t before) {
  uint32_t value = ~before;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    const uint32_t low = value ^ little_endian(&bytes[at]), high = little_endian(&bytes[at + 4]);
    value = kTables[7][low & 255] ^ kTables[6][low >> 8 & 255] ^ kTables[5][low >> 16 & 255] ^ kTables[4][low >> 24] ^
            kTables[3][high & 255] ^ kTables[2][high >> 8 & 255] ^ kTables[1][high >> 16 & 255] ^
            kTables[0][high >> 24];
  }
  for (; at < bytes.size(); at++) value = (value >> 8) ^ kTables[0][(value ^ bytes[at]) & 255];
  return ~value;
}

}  // namespace hocket
