// What the two halves of the network plugin share: NCCL's interface, version 10, in our words, and the NICs of this
// host.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::net {

enum Result { kSuccess = 0, kSystemError = 2, kInternalError = 3 };
constexpr int kPointerHost = 1, kPointerCuda = 2;
constexpr int kMostDevices = 4, kMostReceives = 8;
struct VirtualDevice {
  int count;
  int devices[kMostDevices];
};
struct Properties {
  char* name;
  char* pci_path;
  uint64_t guid;
  int pointer_support;
  int registers_globally;
  int force_flush;
  int speed_mbps;
  int port;
  float latency_us;
  int most_connections;
  int most_receives;
  int device_type;
  int device_version;
  VirtualDevice virtual_device;
  size_t most_p2p_bytes;
  size_t most_collective_bytes;
};

Result devices(int* count);
Result get_properties(int device, Properties* properties);

}  // namespace hocket::net
