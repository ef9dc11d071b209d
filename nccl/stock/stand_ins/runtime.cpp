// A stand-in for the runtime library of CUDA and of HIP: the host's memory as the GPUs', streams as threads. The host
// code of NCCL and of RCCL runs over it unchanged. What only one of the two has is in cuda_runtime.cpp,
// hip_runtime.cpp.
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include "device.hpp"
#include "gpu_runtime.hpp"

using namespace hocket::stand_in;

namespace {

/** An event is done when the stream has come to where it was recorded last. */
struct Event {
  std::mutex lock;
  std::condition_variable changed;
  uint64_t recorded = 0;
  uint64_t reached = 0;
};

using SharedEvent = std::shared_ptr<Event>;
SharedEvent& event_of(GPU(Event_t) handle) { return *reinterpret_cast<SharedEvent*>(handle); }

GPU(Error_t) record(const SharedEvent& event, GPU(Stream_t) stream) {
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
  return kSuccess;
}

void wait_for(const SharedEvent& event, uint64_t target) {
  std::unique_lock<std::mutex> held(event->lock);
  event->changed.wait(held, [&] { return event->reached >= target; });
}

std::atomic<long> launches{0};
std::atomic<long> step{-1};
std::atomic<long> moves{0};
void (*kernel_runner)(const HocketLaunch&) = nullptr;

}  // namespace

extern "C" __attribute__((visibility("default"))) void hocketRunKernelsBy(void (*runner)(const HocketLaunch&)) {
  kernel_runner = runner;
}
extern "C" __attribute__((visibility("default"))) void hocketStep(long now) { step = now; }
extern "C" __attribute__((visibility("default"))) void hocketMoved() { moves++; }
extern "C" __attribute__((visibility("default"))) long hocketMoves() { return moves; }
extern "C" __attribute__((visibility("default"))) long hocketLaunches() { return launches; }

namespace hocket::stand_in {

void launch(const void* symbol, const void* arguments, size_t bytes, unsigned blocks, unsigned threads, void* stream) {
  launches++;
  if (!kernel_runner) return;
  auto copy = std::make_shared<std::vector<unsigned long long>>((bytes + 15) / 16 * 2 + 2);
  auto aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(copy->data()) + 15) / 16 * 16);
  memcpy(aligned, arguments, bytes);
  long now = step;
  enqueue(stream, [=] {
    (void)copy;  // `aligned` lies in it
    kernel_runner({symbol, aligned, bytes, blocks, threads, now});
  });
}

GPU(Error_t) allocate_of_host(void** address, size_t bytes) {
  GPU(Error_t) done = GPU(Malloc)(address, bytes);
  if (done == kSuccess) remember(*address, allocation_of(*address).bytes, -1);
  return done;
}

}  // namespace hocket::stand_in

// Devices
RUNTIME GPU(GetDeviceCount)(int* count) {
  *count = static_cast<int>(bus_ids().size());
  return kSuccess;
}
RUNTIME GPU(SetDevice)(int device) {
  if (device < 0 || device >= static_cast<int>(bus_ids().size())) return GPU(ErrorInvalidDevice);
  current_device() = device;
  return kSuccess;
}
RUNTIME GPU(GetDevice)(int* device) {
  *device = current_device();
  return kSuccess;
}
RUNTIME GPU(DeviceGetPCIBusId)(char* text, int bytes, int device) {
  snprintf(text, bytes, "%s", bus_ids()[device].c_str());
  return kSuccess;
}
RUNTIME GPU(DeviceCanAccessPeer)(int* can, int, int) {
  *can = 1;
  return kSuccess;
}
RUNTIME GPU(DeviceEnablePeerAccess)(int, unsigned) { return kSuccess; }
RUNTIME GPU(DeviceSetLimit)(Limit, size_t) { return kSuccess; }
RUNTIME GPU(DeviceGetLimit)(size_t* value, Limit) {
  *value = 1024;
  return kSuccess;
}
RUNTIME GPU(DriverGetVersion)(int* version) {
  *version = kRuntimeVersion;
  return kSuccess;
}
RUNTIME GPU(RuntimeGetVersion)(int* version) {
  *version = kRuntimeVersion;
  return kSuccess;
}
extern "C" __attribute__((visibility("default"))) const char* GPU(GetErrorString)(GPU(Error_t) error) {
  return error == kSuccess ? "no error" : "refused by the stand-in";
}
extern "C" __attribute__((visibility("default"))) const char* GPU(GetErrorName)(GPU(Error_t) error) {
  return GPU(GetErrorString)(error);
}
RUNTIME GPU(GetLastError)() { return kSuccess; }
RUNTIME GPU(PeekAtLastError)() { return kSuccess; }

// Memory
RUNTIME GPU(Malloc)(void** address, size_t bytes) {
  hocketMoved();
  *address = allocate(bytes);
  return *address ? kSuccess : kOutOfMemory;
}
RUNTIME GPU(MallocAsync)(void** address, size_t bytes, GPU(Stream_t)) { return GPU(Malloc)(address, bytes); }
RUNTIME GPU(MallocFromPoolAsync)(void** address, size_t bytes, GPU(MemPool_t), GPU(Stream_t)) {
  return GPU(Malloc)(address, bytes);
}
RUNTIME GPU(Free)(void* address) {
  if (address) release(address);
  return kSuccess;
}
RUNTIME GPU(FreeAsync)(void* address, GPU(Stream_t) stream) {
  enqueue(stream, [=] { static_cast<void>(GPU(Free)(address)); });
  return kSuccess;
}
RUNTIME GPU(MemPoolCreate)(GPU(MemPool_t) * pool, const GPU(MemPoolProps) *) {
  *pool = fresh_handle<GPU(MemPool_t)>();
  return kSuccess;
}
RUNTIME GPU(MemPoolDestroy)(GPU(MemPool_t)) { return kSuccess; }
RUNTIME GPU(MemPoolSetAttribute)(GPU(MemPool_t), GPU(MemPoolAttr), void*) { return kSuccess; }
RUNTIME GPU(HostRegister)(void*, size_t, unsigned) { return kSuccess; }
RUNTIME GPU(HostUnregister)(void*) { return kSuccess; }
RUNTIME GPU(HostGetDevicePointer)(void** device, void* host, unsigned) {
  *device = host;
  return kSuccess;
}
RUNTIME GPU(Memcpy)(void* to, const void* from, size_t bytes, GPU(MemcpyKind)) {
  memcpy(to, from, bytes);
  return kSuccess;
}
// The host's memory may be gone when the stream comes to the copy: what lies there now is kept, as the libraries do.
RUNTIME GPU(MemcpyAsync)(void* to, const void* from, size_t bytes, GPU(MemcpyKind), GPU(Stream_t) stream) {
  if (allocation_of(from).bytes) {
    enqueue(stream, [=] { memcpy(to, from, bytes); });
    return kSuccess;
  }
  auto kept =
      std::make_shared<std::vector<char>>(static_cast<const char*>(from), static_cast<const char*>(from) + bytes);
  enqueue(stream, [=] { memcpy(to, kept->data(), kept->size()); });
  return kSuccess;
}
RUNTIME GPU(Memset)(void* to, int value, size_t bytes) {
  fill(to, value, bytes);
  return kSuccess;
}
RUNTIME GPU(MemsetAsync)(void* to, int value, size_t bytes, GPU(Stream_t) stream) {
  enqueue(stream, [=] { fill(to, value, bytes); });
  return kSuccess;
}
RUNTIME GPU(PointerGetAttributes)(PointerAttributes* attributes, const void* address) {
  memset(attributes, 0, sizeof *attributes);
  Allocation found = allocation_of(address);
  attributes->type = GPU(MemoryTypeUnregistered);
  if (!found.bytes) return kUnknownPointer;
  attributes->type = found.device < 0 ? GPU(MemoryTypeHost) : GPU(MemoryTypeDevice);
  attributes->device = found.device < 0 ? 0 : found.device;
  attributes->devicePointer = const_cast<void*>(address);
  if (found.device < 0) attributes->hostPointer = const_cast<void*>(address);
  return kSuccess;
}
RUNTIME GPU(IpcGetMemHandle)(GPU(IpcMemHandle_t) * handle, void* address) {
  pid_t process = getpid();
  memset(handle, 0, sizeof *handle);
  memcpy(handle->reserved, &address, sizeof address);
  memcpy(handle->reserved + sizeof address, &process, sizeof process);
  return kSuccess;
}
RUNTIME GPU(IpcOpenMemHandle)(void** address, GPU(IpcMemHandle_t) handle, unsigned) {
  pid_t process;
  memcpy(&process, handle.reserved + sizeof *address, sizeof process);
  if (process != getpid()) return GPU(ErrorNotSupported);  // memory of other processes is shared by cuMem alone
  memcpy(address, handle.reserved, sizeof *address);
  return kSuccess;
}
RUNTIME GPU(IpcCloseMemHandle)(void*) { return kSuccess; }

// Streams and events
RUNTIME GPU(StreamCreateWithFlags)(GPU(Stream_t) * stream, unsigned) {
  *stream = fresh_handle<GPU(Stream_t)>();
  enqueue(*stream, [] {});  // its thread belongs to the device that is current now
  return kSuccess;
}
RUNTIME GPU(StreamCreate)(GPU(Stream_t) * stream) { return GPU(StreamCreateWithFlags)(stream, 0); }
RUNTIME GPU(StreamDestroy)(GPU(Stream_t) stream) {
  drain(stream);
  return kSuccess;
}
RUNTIME GPU(StreamSynchronize)(GPU(Stream_t) stream) {
  drain(stream);
  return kSuccess;
}
RUNTIME GPU(StreamQuery)(GPU(Stream_t)) { return kSuccess; }
RUNTIME GPU(StreamIsCapturing)(GPU(Stream_t), GPU(StreamCaptureStatus) * status) {
  *status = GPU(StreamCaptureStatusNone);
  return kSuccess;
}
RUNTIME GPU(ThreadExchangeStreamCaptureMode)(GPU(StreamCaptureMode) *) { return kSuccess; }
RUNTIME GPU(StreamWaitEvent)(GPU(Stream_t) stream, GPU(Event_t) handle, unsigned) {
  SharedEvent event = event_of(handle);
  std::unique_lock<std::mutex> held(event->lock);
  uint64_t target = event->recorded;
  held.unlock();
  enqueue(stream, [event, target] { wait_for(event, target); });
  return kSuccess;
}
RUNTIME GPU(EventCreateWithFlags)(GPU(Event_t) * event, unsigned) {
  *event = reinterpret_cast<GPU(Event_t)>(new SharedEvent(std::make_shared<Event>()));
  return kSuccess;
}
RUNTIME GPU(EventCreate)(GPU(Event_t) * event) { return GPU(EventCreateWithFlags)(event, 0); }
RUNTIME GPU(EventDestroy)(GPU(Event_t) event) {
  delete reinterpret_cast<SharedEvent*>(event);
  return kSuccess;
}
RUNTIME GPU(EventRecord)(GPU(Event_t) event, GPU(Stream_t) stream) { return record(event_of(event), stream); }
RUNTIME GPU(EventRecordWithFlags)(GPU(Event_t) event, GPU(Stream_t) stream, unsigned) {
  return record(event_of(event), stream);
}
RUNTIME GPU(EventQuery)(GPU(Event_t) handle) {
  const SharedEvent& event = event_of(handle);
  std::lock_guard<std::mutex> held(event->lock);
  return event->reached >= event->recorded ? kSuccess : GPU(ErrorNotReady);
}
RUNTIME GPU(EventSynchronize)(GPU(Event_t) handle) {
  SharedEvent event = event_of(handle);
  std::unique_lock<std::mutex> held(event->lock);
  uint64_t target = event->recorded;
  held.unlock();
  wait_for(event, target);
  return kSuccess;
}
RUNTIME GPU(EventElapsedTime)(float* milliseconds, GPU(Event_t), GPU(Event_t)) {
  *milliseconds = 0;
  return kSuccess;
}
RUNTIME GPU(DeviceSynchronize)() { return kSuccess; }
RUNTIME GPU(FuncSetAttribute)(const void*, GPU(FuncAttribute), int) { return kSuccess; }
RUNTIME GPU(LaunchHostFunc)(GPU(Stream_t) stream, GPU(HostFn_t) function, void* argument) {
  enqueue(stream, [=] { function(argument); });
  return kSuccess;
}
RUNTIME GPU(UserObjectCreate)(GPU(UserObject_t) *, void*, GPU(HostFn_t), unsigned, unsigned) { return kSuccess; }
RUNTIME GPU(GraphRetainUserObject)(GPU(Graph_t), GPU(UserObject_t), unsigned, unsigned) { return kSuccess; }
