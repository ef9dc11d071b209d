// Switches that reduce (SHARP), as NCCL's plugin interface for CollNet, version 10: its ranks connect, so that NCCL
// prices and chooses CollNet; nothing moves. HOCKET_COLLNET: whether this host's NICs reach such switches.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "net_plugin.hpp"

namespace hocket::net {
namespace {

struct CollectiveInterface {
  const char* name;
  Result (*init)(void* log);
  Result (*devices)(int* count);
  Result (*get_properties)(int device, Properties* properties);
  Result (*listen)(int device, void* handle, void** listening);
  Result (*connect)(void** handles, int ranks, int rank, void* listening, void** group);
  Result (*reduces)(int type, int operation, int* supported);
  Result (*register_memory)(void* group, void* data, size_t bytes, int type, void** memory);
  Result (*register_dma)(void* group, void* data, size_t bytes, int type, uint64_t offset, int file, void** memory);
  Result (*deregister)(void* group, void* memory);
  Result (*all_reduce)();
  Result (*all_gather)();
  Result (*reduce_scatter)();
  Result (*flush)();
  Result (*test)();
  Result (*close_group)(void* group);
  Result (*close_listen)(void* listening);
  Result (*make_virtual)(int* device, VirtualDevice* wanted);
};

void* something() { return reinterpret_cast<void*>(1); }

Result init(void*) { return kSuccess; }
Result switches(int* count) {
  const char* reach = getenv("HOCKET_COLLNET");
  *count = 0;
  return reach && strcmp(reach, "1") == 0 ? devices(count) : kSuccess;
}
Result listen_at(int, void* handle, void** listening) {
  memset(handle, 0, 1);
  *listening = something();
  return kSuccess;
}
Result connect_all(void**, int, int, void*, void** group) {
  *group = something();
  return kSuccess;
}
Result reduces(int, int, int* supported) {
  *supported = 1;
  return kSuccess;
}
Result register_memory(void*, void*, size_t, int, void** memory) {
  *memory = something();
  return kSuccess;
}
Result register_dma(void*, void*, size_t, int, uint64_t, int, void** memory) {
  *memory = something();
  return kSuccess;
}
Result deregister(void*, void*) { return kSuccess; }
Result refuse() {
  fprintf(stderr, "hocket: switches that reduce move nothing here: --do choose\n");
  return kInternalError;
}
Result close_any(void*) { return kSuccess; }

}  // namespace
}  // namespace hocket::net

using namespace hocket::net;

extern "C" __attribute__((visibility("default"))) const CollectiveInterface ncclCollNetPlugin_v10 = {
    "hocket",   init,   switches, get_properties, listen_at, connect_all, reduces,   register_memory, register_dma,
    deregister, refuse, refuse,   refuse,         refuse,    refuse,      close_any, close_any,       nullptr};
