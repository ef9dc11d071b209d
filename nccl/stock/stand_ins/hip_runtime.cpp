// A stand-in for HIP's runtime library: the host's memory as the GPUs', streams as threads. RCCL's host code runs over
// it unchanged. HOCKET_GFX names the GPUs' architecture ("gfx942"), HOCKET_CUS how many compute units each has. Kernels
// are counted and do nothing: what is asked here is what RCCL chooses, not what its kernels move.
#include <hip/hip_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "device.hpp"

using namespace hocket::stand_in;

#define RUNTIME extern "C" __attribute__((visibility("default"))) hipError_t

namespace {

constexpr int kVersion = 70226000;  // HIP of ROCm 7.2: major, minor, patch as 1 00 00000

const char* architecture() {
  const char* named = getenv("HOCKET_GFX");
  return named ? named : "gfx942";
}

bool is_gfx950() { return strncmp(architecture(), "gfx950", 6) == 0; }

/** Compute units of a GPU in its default partition: 304 of MI300X and MI325X, 256 of MI350X and MI355X. */
int compute_units() {
  const char* said = getenv("HOCKET_CUS");
  return said ? atoi(said) : is_gfx950() ? 256 : 304;
}

/** An event is done when the stream has come to where it was recorded last. */
struct Event {
  std::mutex lock;
  std::condition_variable changed;
  uint64_t recorded = 0;
  uint64_t reached = 0;
};

using SharedEvent = std::shared_ptr<Event>;
SharedEvent& event_of(hipEvent_t handle) { return *reinterpret_cast<SharedEvent*>(handle); }

void wait_for(const SharedEvent& event, uint64_t target) {
  std::unique_lock<std::mutex> held(event->lock);
  event->changed.wait(held, [&] { return event->reached >= target; });
}

/** As memset; whole pages of a device's memory that become zero are given back, which costs less than to write them. */
void fill(void* to, int value, size_t bytes) {
  constexpr uintptr_t kPage = 4096;
  auto start = reinterpret_cast<uintptr_t>(to), end = start + bytes;
  uintptr_t first = (start + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
  if (value != 0 || last <= first || !allocation_of(to).bytes) {
    memset(to, value, bytes);
    return;
  }
  memset(to, 0, first - start);
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  memset(reinterpret_cast<void*>(last), 0, end - last);
}

std::atomic<long> launches{0};
std::atomic<uintptr_t> next_handle{64};

template <class Handle>
Handle fresh_handle() {
  return reinterpret_cast<Handle>(next_handle += 64);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) long hocketLaunches() { return launches; }

// Devices
RUNTIME hipGetDeviceCount(int* count) {
  *count = static_cast<int>(bus_ids().size());
  return hipSuccess;
}
RUNTIME hipSetDevice(int device) {
  if (device < 0 || device >= static_cast<int>(bus_ids().size())) return hipErrorInvalidDevice;
  current_device() = device;
  return hipSuccess;
}
RUNTIME hipGetDevice(int* device) {
  *device = current_device();
  return hipSuccess;
}
RUNTIME hipDeviceGet(hipDevice_t* device, int ordinal) {
  *device = ordinal;
  return hipSuccess;
}
RUNTIME hipCtxGetCurrent(hipCtx_t* context) {
  *context = nullptr;
  return hipSuccess;
}
RUNTIME hipDeviceGetPCIBusId(char* text, int bytes, int device) {
  snprintf(text, bytes, "%s", bus_ids()[device].c_str());
  return hipSuccess;
}
RUNTIME hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int) {
  switch (attribute) {
    case hipDeviceAttributeComputeCapabilityMajor:
      *value = 9;
      break;
    case hipDeviceAttributeComputeCapabilityMinor:
      *value = is_gfx950() ? 5 : 4;
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
  properties->minor = is_gfx950() ? 5 : 4;
  properties->multiProcessorCount = compute_units();
  properties->warpSize = 64;
  properties->clockRate = 2100000;
  unsigned domain = 0, bus = 0, slot = 0;
  sscanf(bus_ids()[device].c_str(), "%x:%x:%x", &domain, &bus, &slot);
  properties->pciDomainID = static_cast<int>(domain);
  properties->pciBusID = static_cast<int>(bus);
  properties->pciDeviceID = static_cast<int>(slot);
  return hipSuccess;
}
RUNTIME hipDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return hipSuccess;
}
RUNTIME hipDeviceEnablePeerAccess(int, unsigned) { return hipSuccess; }
RUNTIME hipDeviceSetLimit(hipLimit_t, size_t) { return hipSuccess; }
RUNTIME hipDeviceSynchronize() { return hipSuccess; }
RUNTIME hipDriverGetVersion(int* version) {
  *version = kVersion;
  return hipSuccess;
}
RUNTIME hipRuntimeGetVersion(int* version) {
  *version = kVersion;
  return hipSuccess;
}
extern "C" __attribute__((visibility("default"))) const char* hipGetErrorString(hipError_t error) {
  return error == hipSuccess ? "no error" : "refused by the stand-in for HIP";
}
RUNTIME hipGetLastError() { return hipSuccess; }

// Memory
RUNTIME hipMalloc(void** address, size_t bytes) {
  *address = allocate(bytes);
  return *address ? hipSuccess : hipErrorOutOfMemory;
}
RUNTIME hipExtMallocWithFlags(void** address, size_t bytes, unsigned) { return hipMalloc(address, bytes); }
RUNTIME hipMallocFromPoolAsync(void** address, size_t bytes, hipMemPool_t, hipStream_t) {
  return hipMalloc(address, bytes);
}
RUNTIME hipFree(void* address) {
  if (address) release(address);
  return hipSuccess;
}
RUNTIME hipFreeAsync(void* address, hipStream_t stream) {
  enqueue(stream, [=] { static_cast<void>(hipFree(address)); });
  return hipSuccess;
}
RUNTIME hipMemPoolCreate(hipMemPool_t* pool, const hipMemPoolProps*) {
  *pool = fresh_handle<hipMemPool_t>();
  return hipSuccess;
}
RUNTIME hipMemPoolDestroy(hipMemPool_t) { return hipSuccess; }
RUNTIME hipMemPoolSetAttribute(hipMemPool_t, hipMemPoolAttr, void*) { return hipSuccess; }
RUNTIME hipHostMalloc(void** address, size_t bytes, unsigned) {
  hipError_t done = hipMalloc(address, bytes);
  if (done == hipSuccess) remember(*address, allocation_of(*address).bytes, -1);
  return done;
}
RUNTIME hipExtHostAlloc(void** address, size_t bytes, unsigned flags) { return hipHostMalloc(address, bytes, flags); }
RUNTIME hipHostFree(void* address) { return hipFree(address); }
RUNTIME hipHostRegister(void*, size_t, unsigned) { return hipSuccess; }
RUNTIME hipHostUnregister(void*) { return hipSuccess; }
RUNTIME hipHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return hipSuccess;
}
RUNTIME hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind) {
  memcpy(to, from, bytes);
  return hipSuccess;
}
// The host's memory may be gone when the stream comes to the copy: what lies there now is kept, as HIP does.
RUNTIME hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind, hipStream_t stream) {
  if (allocation_of(from).bytes) {
    enqueue(stream, [=] { memcpy(to, from, bytes); });
    return hipSuccess;
  }
  auto start = static_cast<const char*>(from);
  auto kept = std::make_shared<std::vector<char>>(start, start + bytes);
  enqueue(stream, [=] { memcpy(to, kept->data(), kept->size()); });
  return hipSuccess;
}
RUNTIME hipMemset(void* to, int value, size_t bytes) {
  fill(to, value, bytes);
  return hipSuccess;
}
RUNTIME hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  enqueue(stream, [=] { fill(to, value, bytes); });
  return hipSuccess;
}
RUNTIME hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* address) {
  memset(attributes, 0, sizeof *attributes);
  Allocation found = allocation_of(address);
  if (!found.bytes) return hipErrorInvalidValue;
  attributes->type = found.device < 0 ? hipMemoryTypeHost : hipMemoryTypeDevice;
  attributes->device = found.device < 0 ? 0 : found.device;
  attributes->devicePointer = const_cast<void*>(address);
  if (found.device < 0) attributes->hostPointer = const_cast<void*>(address);
  return hipSuccess;
}
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
RUNTIME hipIpcGetMemHandle(hipIpcMemHandle_t* handle, void* address) {
  pid_t process = getpid();
  memset(handle, 0, sizeof *handle);
  memcpy(handle->reserved, &address, sizeof address);
  memcpy(handle->reserved + sizeof address, &process, sizeof process);
  return hipSuccess;
}
RUNTIME hipIpcOpenMemHandle(void** address, hipIpcMemHandle_t handle, unsigned) {
  pid_t process;
  memcpy(&process, handle.reserved + sizeof *address, sizeof process);
  if (process != getpid()) return hipErrorNotSupported;  // memory of other processes
  memcpy(address, handle.reserved, sizeof *address);
  return hipSuccess;
}
RUNTIME hipIpcCloseMemHandle(void*) { return hipSuccess; }

// Streams and events
RUNTIME hipStreamCreateWithFlags(hipStream_t* stream, unsigned) {
  *stream = fresh_handle<hipStream_t>();
  enqueue(*stream, [] {});  // its thread belongs to the device that is current now
  return hipSuccess;
}
RUNTIME hipStreamDestroy(hipStream_t stream) {
  drain(stream);
  return hipSuccess;
}
RUNTIME hipStreamSynchronize(hipStream_t stream) {
  drain(stream);
  return hipSuccess;
}
RUNTIME hipStreamIsCapturing(hipStream_t, hipStreamCaptureStatus* status) {
  *status = hipStreamCaptureStatusNone;
  return hipSuccess;
}
RUNTIME hipStreamGetCaptureInfo_v2(hipStream_t, hipStreamCaptureStatus* status, unsigned long long* id,
                                   hipGraph_t* graph, const hipGraphNode_t**, size_t* count) {
  *status = hipStreamCaptureStatusNone;
  if (id) *id = 0;
  if (graph) *graph = nullptr;
  if (count) *count = 0;
  return hipSuccess;
}
RUNTIME hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode*) { return hipSuccess; }
RUNTIME hipStreamWaitEvent(hipStream_t stream, hipEvent_t handle, unsigned) {
  SharedEvent event = event_of(handle);
  std::unique_lock<std::mutex> held(event->lock);
  uint64_t target = event->recorded;
  held.unlock();
  enqueue(stream, [event, target] { wait_for(event, target); });
  return hipSuccess;
}
RUNTIME hipEventCreateWithFlags(hipEvent_t* event, unsigned) {
  *event = reinterpret_cast<hipEvent_t>(new SharedEvent(std::make_shared<Event>()));
  return hipSuccess;
}
RUNTIME hipEventCreate(hipEvent_t* event) { return hipEventCreateWithFlags(event, 0); }
RUNTIME hipEventDestroy(hipEvent_t event) {
  delete reinterpret_cast<SharedEvent*>(event);
  return hipSuccess;
}
RUNTIME hipEventRecord(hipEvent_t handle, hipStream_t stream) {
  SharedEvent event = event_of(handle);
  std::unique_lock<std::mutex> held(event->lock);
  uint64_t target = ++event->recorded;
  held.unlock();
  enqueue(stream, [event, target] {
    std::lock_guard<std::mutex> reached(event->lock);
    if (event->reached < target) event->reached = target;
    event->changed.notify_all();
  });
  return hipSuccess;
}
RUNTIME hipEventQuery(hipEvent_t handle) {
  const SharedEvent& event = event_of(handle);
  std::lock_guard<std::mutex> held(event->lock);
  return event->reached >= event->recorded ? hipSuccess : hipErrorNotReady;
}
RUNTIME hipEventSynchronize(hipEvent_t handle) {
  SharedEvent event = event_of(handle);
  std::unique_lock<std::mutex> held(event->lock);
  uint64_t target = event->recorded;
  held.unlock();
  wait_for(event, target);
  return hipSuccess;
}
RUNTIME hipEventElapsedTime(float* milliseconds, hipEvent_t, hipEvent_t) {
  *milliseconds = 0;
  return hipSuccess;
}

// Kernels
RUNTIME hipFuncGetAttributes(hipFuncAttributes* attributes, const void*) {
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 1024;
  return hipSuccess;
}
RUNTIME hipFuncSetAttribute(const void*, hipFuncAttribute, int) { return hipSuccess; }
RUNTIME hipLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t) {
  launches++;
  return hipSuccess;
}
RUNTIME hipExtLaunchKernel(const void*, dim3, dim3, void**, size_t, hipStream_t stream, hipEvent_t start,
                           hipEvent_t stop, int) {
  launches++;
  if (start) static_cast<void>(hipEventRecord(start, stream));
  if (stop) static_cast<void>(hipEventRecord(stop, stream));
  return hipSuccess;
}
RUNTIME hipLaunchHostFunc(hipStream_t stream, hipHostFn_t function, void* argument) {
  enqueue(stream, [=] { function(argument); });
  return hipSuccess;
}
