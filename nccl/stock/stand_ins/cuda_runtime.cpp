// A stand-in for CUDA's runtime library: the host's memory as the GPUs', streams as threads. NCCL's host code runs over
// it unchanged.
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "device.hpp"

using namespace hocket::stand_in;

#define RUNTIME extern "C" __attribute__((visibility("default"))) cudaError_t

namespace {

/** An event is done when the stream has come to where it was recorded last. */
struct Event {
  std::mutex lock;
  std::condition_variable changed;
  uint64_t recorded = 0;
  uint64_t reached = 0;
};

using SharedEvent = std::shared_ptr<Event>;
SharedEvent& event_of(cudaEvent_t handle) { return *reinterpret_cast<SharedEvent*>(handle); }

cudaError_t record(const SharedEvent& event, cudaStream_t stream) {
  uint64_t target;
  {
    std::lock_guard<std::mutex> held(event->lock);
    target = ++event->recorded;
  }
  enqueue(stream, [event, target] {
    std::lock_guard<std::mutex> held(event->lock);
    if (event->reached < target) event->reached = target;
    event->changed.notify_all();
  });
  return cudaSuccess;
}

void wait_for(const SharedEvent& event, uint64_t target) {
  std::unique_lock<std::mutex> held(event->lock);
  event->changed.wait(held, [&] { return event->reached >= target; });
}

std::atomic<long> launches{0};
std::atomic<long> step{-1};
std::atomic<long> moves{0};
std::atomic<uintptr_t> next_handle{64};
void (*kernel_runner)(const HocketLaunch&) = nullptr;

void* fresh_handle() { return reinterpret_cast<void*>(next_handle += 64); }

}  // namespace

extern "C" __attribute__((visibility("default"))) void hocketRunKernelsBy(void (*runner)(const HocketLaunch&)) {
  kernel_runner = runner;
}
extern "C" __attribute__((visibility("default"))) void hocketStep(long now) { step = now; }
extern "C" __attribute__((visibility("default"))) void hocketMoved() { moves++; }
extern "C" __attribute__((visibility("default"))) long hocketMoves() { return moves; }
extern "C" __attribute__((visibility("default"))) long hocketLaunches() { return launches; }

/** Launches as the driver does: the arguments are copied now, the kernel runs when the stream comes to it. */
extern "C" __attribute__((visibility("hidden"))) void hocket_launch(const void* symbol, unsigned blocks,
                                                                    unsigned threads, void* stream, void** extra) {
  launches++;
  if (!kernel_runner || !extra) return;
  const void* arguments = nullptr;
  size_t bytes = 0;
  for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) arguments = extra[i + 1];
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t*>(extra[i + 1]);
  }
  auto copy = std::make_shared<std::vector<unsigned long long>>((bytes + 15) / 16 * 2 + 2);
  auto aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(copy->data()) + 15) / 16 * 16);
  memcpy(aligned, arguments, bytes);
  long now = step;
  enqueue(stream, [=] {
    (void)copy;  // `aligned` lies in it
    kernel_runner({symbol, aligned, bytes, blocks, threads, now});
  });
}

// Devices
RUNTIME cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(bus_ids().size());
  return cudaSuccess;
}
RUNTIME cudaSetDevice(int device) {
  if (device < 0 || device >= static_cast<int>(bus_ids().size())) return cudaErrorInvalidDevice;
  current_device() = device;
  return cudaSuccess;
}
RUNTIME cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}
RUNTIME cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  snprintf(text, bytes, "%s", bus_ids()[device].c_str());
  return cudaSuccess;
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
  unsigned domain = 0, bus = 0, slot = 0;
  sscanf(bus_ids()[device].c_str(), "%x:%x:%x", &domain, &bus, &slot);
  properties->pciDomainID = static_cast<int>(domain);
  properties->pciBusID = static_cast<int>(bus);
  properties->pciDeviceID = static_cast<int>(slot);
  return cudaSuccess;
}
RUNTIME cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 1;
  return cudaSuccess;
}
RUNTIME cudaDeviceEnablePeerAccess(int, unsigned) { return cudaSuccess; }
RUNTIME cudaDeviceSetLimit(cudaLimit, size_t) { return cudaSuccess; }
RUNTIME cudaDeviceGetLimit(size_t* value, cudaLimit) {
  *value = 1024;
  return cudaSuccess;
}
RUNTIME cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
RUNTIME cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "refused by the stand-in for CUDA";
}
extern "C" __attribute__((visibility("default"))) const char* cudaGetErrorName(cudaError_t error) {
  return cudaGetErrorString(error);
}
RUNTIME cudaGetLastError() { return cudaSuccess; }
RUNTIME cudaPeekAtLastError() { return cudaSuccess; }

// Memory
RUNTIME cudaMalloc(void** address, size_t bytes) {
  hocketMoved();
  *address = allocate(bytes);
  return *address ? cudaSuccess : cudaErrorMemoryAllocation;
}
RUNTIME cudaMallocAsync(void** address, size_t bytes, cudaStream_t) { return cudaMalloc(address, bytes); }
RUNTIME cudaMallocFromPoolAsync(void** address, size_t bytes, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(address, bytes);
}
RUNTIME cudaFree(void* address) {
  if (address) release(address);
  return cudaSuccess;
}
RUNTIME cudaFreeAsync(void* address, cudaStream_t stream) {
  enqueue(stream, [=] { cudaFree(address); });
  return cudaSuccess;
}
RUNTIME cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps*) {
  *pool = static_cast<cudaMemPool_t>(fresh_handle());
  return cudaSuccess;
}
RUNTIME cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
RUNTIME cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
RUNTIME cudaHostAlloc(void** address, size_t bytes, unsigned) {
  cudaError_t done = cudaMalloc(address, bytes);
  if (done == cudaSuccess) remember(*address, allocation_of(*address).bytes, -1);
  return done;
}
RUNTIME cudaFreeHost(void* address) { return cudaFree(address); }
RUNTIME cudaHostRegister(void*, size_t, unsigned) { return cudaSuccess; }
RUNTIME cudaHostUnregister(void*) { return cudaSuccess; }
RUNTIME cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}
RUNTIME cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  memcpy(to, from, bytes);
  return cudaSuccess;
}
// The host's memory may be gone when the stream comes to the copy: what lies there now is kept, as CUDA does.
RUNTIME cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (allocation_of(from).bytes) {
    enqueue(stream, [=] { memcpy(to, from, bytes); });
    return cudaSuccess;
  }
  (void)kind;
  auto kept =
      std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
  enqueue(stream, [=] { memcpy(to, kept->data(), kept->size()); });
  return cudaSuccess;
}
RUNTIME cudaMemset(void* to, int value, size_t bytes) {
  memset(to, value, bytes);
  return cudaSuccess;
}
RUNTIME cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  enqueue(stream, [=] { memset(to, value, bytes); });
  return cudaSuccess;
}
RUNTIME cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  memset(attributes, 0, sizeof *attributes);
  Allocation found = allocation_of(address);
  attributes->type = !found.bytes       ? cudaMemoryTypeUnregistered
                     : found.device < 0 ? cudaMemoryTypeHost
                                        : cudaMemoryTypeDevice;
  if (!found.bytes) return cudaSuccess;
  attributes->device = found.device < 0 ? 0 : found.device;
  attributes->devicePointer = const_cast<void*>(address);
  if (found.device < 0) attributes->hostPointer = const_cast<void*>(address);
  return cudaSuccess;
}
RUNTIME cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* address) {
  pid_t process = getpid();
  memset(handle, 0, sizeof *handle);
  memcpy(handle->reserved, &address, sizeof address);
  memcpy(handle->reserved + sizeof address, &process, sizeof process);
  return cudaSuccess;
}
RUNTIME cudaIpcOpenMemHandle(void** address, cudaIpcMemHandle_t handle, unsigned) {
  pid_t process;
  memcpy(&process, handle.reserved + sizeof *address, sizeof process);
  if (process != getpid()) return cudaErrorNotSupported;  // memory of other processes is shared by cuMem alone
  memcpy(address, handle.reserved, sizeof *address);
  return cudaSuccess;
}
RUNTIME cudaIpcCloseMemHandle(void*) { return cudaSuccess; }

// Streams and events
RUNTIME cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = static_cast<cudaStream_t>(fresh_handle());
  enqueue(*stream, [] {});  // its thread belongs to the device that is current now
  return cudaSuccess;
}
RUNTIME cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
RUNTIME cudaStreamDestroy(cudaStream_t stream) {
  drain(stream);
  return cudaSuccess;
}
RUNTIME cudaStreamSynchronize(cudaStream_t stream) {
  drain(stream);
  return cudaSuccess;
}
RUNTIME cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
RUNTIME cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  *id = reinterpret_cast<unsigned long long>(stream);
  return cudaSuccess;
}
RUNTIME cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
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
RUNTIME cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
RUNTIME cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned) {
  SharedEvent event = event_of(handle);
  std::unique_lock<std::mutex> held(event->lock);
  uint64_t target = event->recorded;
  held.unlock();
  enqueue(stream, [event, target] { wait_for(event, target); });
  return cudaSuccess;
}
RUNTIME cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new SharedEvent(std::make_shared<Event>()));
  return cudaSuccess;
}
RUNTIME cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
RUNTIME cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<SharedEvent*>(event);
  return cudaSuccess;
}
RUNTIME cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { return record(event_of(event), stream); }
RUNTIME cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return record(event_of(event), stream);
}
RUNTIME cudaEventQuery(cudaEvent_t handle) {
  const SharedEvent& event = event_of(handle);
  std::lock_guard<std::mutex> held(event->lock);
  return event->reached >= event->recorded ? cudaSuccess : cudaErrorNotReady;
}
RUNTIME cudaEventSynchronize(cudaEvent_t handle) {
  SharedEvent event = event_of(handle);
  std::unique_lock<std::mutex> held(event->lock);
  uint64_t target = event->recorded;
  held.unlock();
  wait_for(event, target);
  return cudaSuccess;
}
RUNTIME cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0;
  return cudaSuccess;
}
RUNTIME cudaDeviceSynchronize() { return cudaSuccess; }

// Kernels
RUNTIME cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  memset(attributes, 0, sizeof *attributes);
  attributes->maxThreadsPerBlock = 640;
  attributes->binaryVersion = attributes->ptxVersion = compute_capability();
  return cudaSuccess;
}
RUNTIME cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
RUNTIME cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  *function = static_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return cudaSuccess;
}
RUNTIME cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* argument) {
  enqueue(stream, [=] { function(argument); });
  return cudaSuccess;
}
RUNTIME cudaUserObjectCreate(cudaUserObject_t*, void*, cudaHostFn_t, unsigned, unsigned) { return cudaSuccess; }
RUNTIME cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned, unsigned) { return cudaSuccess; }
