#pragma once

#include "hocket/device/target.hpp"

// Packets of 16 bytes, each half of which brings its own flag (NCCL's LL), and the words that they are filled from.

namespace hocket::device {

/// 8 bytes from anywhere; what lies behind the first `bytes` is not read, and 0.
HOCKET_DEVICE uint64_t load_some(const uint8_t* data, int64_t bytes) {
  if (bytes >= 8 && may_hold<uint64_t>(data)) return load_unit<uint64_t>(data);
  if (bytes >= 8 && may_hold<uint32_t>(data)) {
    return load_unit<uint32_t>(data) | static_cast<uint64_t>(load_unit<uint32_t>(data + 4)) << 32;
  }
  uint64_t value = 0;
  for (int64_t k = 0; k < bytes && k < 8; k++) value |= static_cast<uint64_t>(data[k]) << 8 * k;
  return value;
}
HOCKET_DEVICE void store_some(uint8_t* data, int64_t bytes, uint64_t value) {
  if (bytes >= 8 && may_hold<uint64_t>(data)) return store_unit(data, value);
  if (bytes >= 8 && may_hold<uint32_t>(data)) {
    store_unit(data, static_cast<uint32_t>(value));
    return store_unit(data + 4, static_cast<uint32_t>(value >> 32));
  }
  for (int64_t k = 0; k < bytes && k < 8; k++) data[k] = static_cast<uint8_t>(value >> 8 * k);
}

/// Both halves carry the flag, since nothing says that 16 bytes arrive at once.
HOCKET_DEVICE void store_packet(uint8_t* packet, uint64_t value, uint32_t flag) {
  const uint64_t high = static_cast<uint64_t>(flag) << 32;
  const uint64_t words[2] = {(value & 0xffffffff) | high, value >> 32 | high};
#if HOCKET_ON_GPU && defined(__CUDACC__)
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(packet), "l"(words[0]), "l"(words[1]) : "memory");
#else
  auto* const to = reinterpret_cast<uint64_t*>(packet);
  store_relaxed(to, words[0]);
  store_relaxed(to + 1, words[1]);
#endif
}
/// Whether the packet has come, and what is in it.
HOCKET_DEVICE bool load_packet(const uint8_t* packet, uint32_t flag, uint64_t* value) {
  uint64_t words[2];
#if HOCKET_ON_GPU && defined(__CUDACC__)
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(words[0]), "=l"(words[1]) : "l"(packet) : "memory");
#else
  const auto* const from = reinterpret_cast<const uint64_t*>(packet);
  words[0] = load_relaxed(from);
  words[1] = load_relaxed(from + 1);
#endif
  *value = (words[0] & 0xffffffff) | words[1] << 32;
  return words[0] >> 32 == flag && words[1] >> 32 == flag;
}

}  // namespace hocket::device
