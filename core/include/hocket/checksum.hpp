#pragma once

#include <cstdint>
#include <span>

namespace hocket {

/// CRC-32 as zlib and gzip have it (polynomial 0xEDB88320), going on from the checksum of what came before.
uint32_t crc32(std::span<const uint8_t> bytes, uint32_t before = 0);

}  // namespace hocket
