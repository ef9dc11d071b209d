// A stand-in for NVML: the GPUs of this host, with NVLinks that are up. HOCKET_FABRIC names the NVLink domain of
// several hosts that they belong to, where they do.
#include <strings.h>

#include <cstdlib>
#include <cstring>

#include "device.hpp"

using hocket::stand_in::bus_ids;
using hocket::stand_in::compute_capability;

#define NVML extern "C" __attribute__((visibility("default"))) int

namespace {
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;

struct FabricInfo {  // nvmlGpuFabricInfoV_t, versions 2 and 3
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};
constexpr unsigned char kFabricCompleted = 3;

void* handle(int index) { return reinterpret_cast<void*>(static_cast<intptr_t>(index + 1)); }

}  // namespace

NVML nvmlInit() { return kSuccess; }
NVML nvmlInit_v2() { return kSuccess; }
NVML nvmlShutdown() { return kSuccess; }
NVML nvmlDeviceGetCount(unsigned* count) {
  *count = static_cast<unsigned>(bus_ids().size());
  return kSuccess;
}
NVML nvmlDeviceGetCount_v2(unsigned* count) { return nvmlDeviceGetCount(count); }
NVML nvmlDeviceGetHandleByIndex(unsigned index, void** device) {
  *device = handle(static_cast<int>(index));
  return kSuccess;
}
NVML nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { return nvmlDeviceGetHandleByIndex(index, device); }
NVML nvmlDeviceGetHandleByPciBusId(const char* id, void** device) {
  for (size_t i = 0; i < bus_ids().size(); i++) {
    const std::string& known = bus_ids()[i];
    size_t length = strlen(id);
    const char* end = length > known.size() ? id + (length - known.size()) : id;
    if (strcasecmp(end, known.c_str()) == 0) {
      *device = handle(static_cast<int>(i));
      return kSuccess;
    }
  }
  return kNotFound;
}
NVML nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  return nvmlDeviceGetHandleByPciBusId(id, device);
}
NVML nvmlDeviceGetIndex(void* device, unsigned* index) {
  *index = static_cast<unsigned>(reinterpret_cast<intptr_t>(device) - 1);
  return kSuccess;
}
extern "C" __attribute__((visibility("default"))) const char* nvmlErrorString(int) {
  return "refused by the stand-in for NVML";
}
NVML nvmlDeviceGetNvLinkState(void*, unsigned, unsigned* active) {
  *active = 1;
  return kSuccess;
}
NVML nvmlDeviceGetNvLinkCapability(void*, unsigned, int, unsigned* has) {
  *has = 1;
  return kSuccess;
}
NVML nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = compute_capability() / 10;
  *minor = compute_capability() % 10;
  return kSuccess;
}
NVML nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
  *status = 0;
  return kSuccess;
}
NVML nvmlDeviceGetGpuFabricInfoV(void*, void* out) {
  const std::string& domain = hocket::stand_in::fabric();
  if (domain.empty()) return kNotSupported;
  auto* info = static_cast<FabricInfo*>(out);
  memset(info->cluster, 0, sizeof info->cluster);
  memcpy(info->cluster, domain.data(), std::min(sizeof info->cluster, domain.size()));
  info->status = kSuccess;
  info->clique = 0;
  info->state = kFabricCompleted;
  return kSuccess;
}
NVML nvmlDeviceGetNvLinkRemotePciInfo(void*, unsigned, void*) { return kNotSupported; }
NVML nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) { return kNotSupported; }
NVML nvmlDeviceGetFieldValues(void*, int, void*) { return kNotSupported; }
NVML nvmlSystemGetConfComputeState(void*) { return kNotSupported; }
NVML nvmlSystemGetConfComputeSettings(void*) { return kNotSupported; }
NVML nvmlDeviceGetPlatformInfo(void*, void*) { return kNotSupported; }
