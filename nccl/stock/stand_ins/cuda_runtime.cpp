// What a stand-in for CUDA's runtime library has beside runtime.cpp.
#include <cstdio>
#include <cstring>

#include "device.hpp"
#include "gpu_runtime.hpp"

using namespace hocket::stand_in;

/** Launches as the driver does: of all arguments one buffer. */
extern "C" __attribute__((visibility("hidden"))) void hocket_launch(const void* symbol, unsigned blocks,
                                                                    unsigned threads, void* stream, void** extra) {
  const void* arguments = nullptr;
  size_t bytes = 0;
  for (int i = 0; extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) arguments = extra[i + 1];
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t*>(extra[i + 1]);
  }
  launch(symbol, arguments, bytes, blocks, threads, stream);
}

RUNTIME cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = compute_capability() / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = compute_capability() % 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = 232448;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = compute_capability() >= 100 ? 148 : compute_capability() >= 90 ? 132 : 108;
      break;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      break;
    default:
      *value = 0;
  }
  return cudaSuccess;
}
RUNTIME cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  memset(properties, 0, sizeof *properties);
  snprintf(properties->name, sizeof properties->name, "stand-in sm_%d", compute_capability());
  properties->major = compute_capability() / 10;
  properties->minor = compute_capability() % 10;
  cudaDeviceGetAttribute(&properties->multiProcessorCount, cudaDevAttrMultiProcessorCount, device);
  properties->sharedMemPerBlockOptin = 232448;
  set_place(*properties, device);
  return cudaSuccess;
}
RUNTIME cudaHostAlloc(void** address, size_t bytes, unsigned) { return allocate_of_host(address, bytes); }
RUNTIME cudaFreeHost(void* address) { return cudaFree(address); }
RUNTIME cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  *id = reinterpret_cast<unsigned long long>(stream);
  return cudaSuccess;
}
RUNTIME cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long* id,
                                 cudaGraph_t* graph, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                                 size_t* count) {
  *status = cudaStreamCaptureStatusNone;
  if (id) *id = 0;
  if (graph) *graph = nullptr;
  if (count) *count = 0;
  return cudaSuccess;
}

// Kernels
RUNTIME cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 640;
  attributes->binaryVersion = attributes->ptxVersion = compute_capability();
  return cudaSuccess;
}
RUNTIME cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  *function = static_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return cudaSuccess;
}
