// What a stand-in for HIP's runtime library has beside runtime.cpp. HOCKET_GFX names the GPUs' architecture ("gfx942"),
// HOCKET_CUS how many compute units each has. Kernels are counted and do nothing: what is asked here is what RCCL
// chooses, not what its kernels move.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "device.hpp"
#include "gpu_runtime.hpp"

using namespace hocket::stand_in;

namespace {

const char* architecture() {
  const char* named = getenv("HOCKET_GFX");
  return named ? named : "gfx942";
}

bool is_gfx950() { return strncmp(architecture(), "gfx950", 6) == 0; }

int compute_units() {
  const char* said = getenv("HOCKET_CUS");
  return said ? atoi(said) : 304;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* hocketLacking() { return ""; }
extern "C" __attribute__((visibility("default"))) void hocketTellWaiting() {}

RUNTIME hipDeviceGet(hipDevice_t* device, int ordinal) {
  *device = ordinal;
  return hipSuccess;
}
RUNTIME hipCtxGetCurrent(hipCtx_t* context) {
  *context = nullptr;
  return hipSuccess;
}
RUNTIME hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int) {
  switch (attribute) {
    case hipDeviceAttributeComputeCapabilityMajor:
      *value = 9;
      break;
    case hipDeviceAttributeComputeCapabilityMinor:
      *value = architecture()[4] - '0';
      break;
    case hipDeviceAttributeMultiprocessorCount:
      *value = compute_units();
      break;
    case hipDeviceAttributeWarpSize:
      *value = 64;
      break;
    case hipDeviceAttributeWallClockRate:
      *value = 100000;  // kHz
      break;
    case hipDeviceAttributeSharedMemPerBlockOptin:
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
      *value = is_gfx950() ? 163840 : 65536;
      break;
    case hipDeviceAttributeUnifiedAddressing:
      *value = 1;
      break;
    default:
      *value = 0;
  }
  return hipSuccess;
}
RUNTIME hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device) {
  memset(properties, 0, sizeof *properties);
  snprintf(properties->name, sizeof properties->name, "stand-in %s", architecture());
  snprintf(properties->gcnArchName, sizeof properties->gcnArchName, "%s:sramecc+:xnack-", architecture());
  properties->major = 9;
  properties->minor = architecture()[4] - '0';
  properties->multiProcessorCount = compute_units();
  properties->warpSize = 64;
  properties->clockRate = 2100000;
  set_place(*properties, device);
  return hipSuccess;
}
RUNTIME hipExtMallocWithFlags(void** address, size_t bytes, unsigned) { return hipMalloc(address, bytes); }
RUNTIME hipHostMalloc(void** address, size_t bytes, unsigned) { return allocate_of_host(address, bytes); }
RUNTIME hipExtHostAlloc(void** address, size_t bytes, unsigned) { return allocate_of_host(address, bytes); }
RUNTIME hipHostFree(void* address) { return hipFree(address); }
RUNTIME hipPointerGetAttribute(void* value, hipPointer_attribute attribute, hipDeviceptr_t address) {
  if (attribute != HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL) return hipErrorNotSupported;
  Allocation found = allocation_of(address);
  *static_cast<int*>(value) = found.device < 0 ? 0 : found.device;
  return hipSuccess;
}
RUNTIME hipMemGetAddressRange(hipDeviceptr_t* start, size_t* bytes, hipDeviceptr_t address) {
  Allocation found = allocation_of(address);
  if (start) *start = found.start;
  if (bytes) *bytes = found.bytes;
  return found.bytes ? hipSuccess : hipErrorInvalidValue;
}
RUNTIME hipStreamGetCaptureInfo_v2(hipStream_t, hipStreamCaptureStatus* status, unsigned long long* id,
                                   hipGraph_t* graph, const hipGraphNode_t**, size_t* count) {
  *status = hipStreamCaptureStatusNone;
  if (id) *id = 0;
  if (graph) *graph = nullptr;
  if (count) *count = 0;
  return hipSuccess;
}
RUNTIME hipFuncGetAttributes(hipFuncAttributes* attributes, const void*) {
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  return hipSuccess;
}
RUNTIME hipLaunchKernel(const void* symbol, dim3 blocks, dim3 threads, void**, size_t, hipStream_t stream) {
  launch(symbol, nullptr, 0, blocks.x, threads.x, stream);
  return hipSuccess;
}
RUNTIME hipExtLaunchKernel(const void* symbol, dim3 blocks, dim3 threads, void**, size_t, hipStream_t stream,
                           hipEvent_t start, hipEvent_t stop, int) {
  launch(symbol, nullptr, 0, blocks.x, threads.x, stream);
  if (start) static_cast<void>(hipEventRecord(start, stream));
  if (stop) static_cast<void>(hipEventRecord(stop, stream));
  return hipSuccess;
}
