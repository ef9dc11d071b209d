// A stand-in for CUDA's driver: what NCCL asks it for by name. Memory that can be shared is a memory file, so that
// other processes of the host map the same pages.
#include <cuda.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>

#include "device.hpp"

using namespace hocket::stand_in;

extern "C" void hocket_launch(const void* symbol, unsigned blocks, unsigned threads, void* stream, void** extra);

namespace {

constexpr size_t kGranularity = size_t{2} << 20;

/** An allocation of cuMemCreate, or a multicast object. */
struct Handle {
  int file;
  size_t bytes;
  int device;
  bool multicast;
  std::atomic<int> users{1};
};
Handle* handle_of(CUmemGenericAllocationHandle handle) { return reinterpret_cast<Handle*>(handle); }

struct Mapping {
  Handle* handle;
  size_t bytes;
};
std::mutex mappings_lock;
std::map<char*, Mapping> mappings;

CUresult error_text(CUresult, const char** text) {
  *text = "refused by the stand-in for CUDA's driver";
  return CUDA_SUCCESS;
}
CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult device_count(int* count) {
  *count = static_cast<int>(bus_ids().size());
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
      *value = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
      *value = !fabric().empty();
      break;
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
      *value = has_multicast();
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = compute_capability() / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = compute_capability() % 10;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult device_uuid(CUuuid* uuid, CUdevice device) {
  memset(uuid, 0, sizeof *uuid);
  memcpy(uuid, bus_ids()[device].data(), std::min(sizeof *uuid, bus_ids()[device].size()));
  return CUDA_SUCCESS;
}
CUresult address_range(CUdeviceptr* start, size_t* bytes, CUdeviceptr address) {
  Allocation found = allocation_of(reinterpret_cast<void*>(address));
  if (!found.bytes) return CUDA_ERROR_INVALID_VALUE;
  if (start) *start = reinterpret_cast<CUdeviceptr>(found.start);
  if (bytes) *bytes = found.bytes;
  return CUDA_SUCCESS;
}
CUcontext context() { return reinterpret_cast<CUcontext>(static_cast<intptr_t>(current_device() + 1)); }
CUresult context_current(CUcontext* current) {
  *current = context();
  return CUDA_SUCCESS;
}
CUresult context_set(CUcontext wanted) {
  if (wanted) current_device() = static_cast<int>(reinterpret_cast<intptr_t>(wanted)) - 1;
  return CUDA_SUCCESS;
}
CUresult context_create(CUcontext* made) { return context_current(made); }
CUresult context_retain(CUcontext* made, CUdevice device) {
  *made = reinterpret_cast<CUcontext>(static_cast<intptr_t>(device + 1));
  return CUDA_SUCCESS;
}
CUresult context_device(CUdevice* device) {
  *device = current_device();
  return CUDA_SUCCESS;
}
CUresult launch(CUfunction kernel, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned,
                CUstream stream, void**, void** extra) {
  hocket_launch(kernel, blocks, threads, stream, extra);
  return CUDA_SUCCESS;
}
CUresult launch_ex(const CUlaunchConfig* config, CUfunction kernel, void**, void** extra) {
  for (unsigned i = 0; i < config->numAttrs; i++)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
      cudaEventRecord(config->attrs[i].value.launchCompletionEvent.event, config->hStream);
  hocket_launch(kernel, config->gridDimX, config->blockDimX, config->hStream, extra);
  return CUDA_SUCCESS;
}

CUresult reserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr, unsigned long long) {
  if (alignment < kGranularity) alignment = kGranularity;
  void* start = mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = (reinterpret_cast<CUdeviceptr>(start) + alignment - 1) / alignment * alignment;
  return CUDA_SUCCESS;
}
CUresult free_address(CUdeviceptr address, size_t bytes) {
  munmap(reinterpret_cast<void*>(address), bytes);
  return CUDA_SUCCESS;
}
/** How memory is named between hosts that NVLink joins: whose open file it is. */
struct FabricHandle {
  pid_t process;
  int file;
};
CUresult create(CUmemGenericAllocationHandle* made, size_t bytes, const CUmemAllocationProp*, unsigned long long) {
  int file = memfd_create("hocket", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *made = reinterpret_cast<CUmemGenericAllocationHandle>(new Handle{file, bytes, current_device(), false, {1}});
  return CUDA_SUCCESS;
}
CUresult granularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}
CUresult export_handle(void* out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                       unsigned long long) {
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    memset(out, 0, sizeof(CUmemFabricHandle));
    *static_cast<FabricHandle*>(out) = {getpid(), dup(handle_of(handle)->file)};
    return CUDA_SUCCESS;
  }
  *static_cast<int*>(out) = dup(handle_of(handle)->file);
  return CUDA_SUCCESS;
}
// A multicast object's file is longer than any memory, by which a process that imports it knows it.
constexpr uint64_t kMulticastMark = uint64_t{1} << 46;
CUresult import_file(CUmemGenericAllocationHandle* made, int file) {
  if (file < 0) return CUDA_ERROR_INVALID_VALUE;
  auto length = static_cast<uint64_t>(lseek(file, 0, SEEK_END));
  *made = reinterpret_cast<CUmemGenericAllocationHandle>(
      new Handle{file, length, current_device(), length >= kMulticastMark, {1}});
  return CUDA_SUCCESS;
}
CUresult import_handle(CUmemGenericAllocationHandle* made, void* out, CUmemAllocationHandleType type) {
  if (type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return import_file(made, dup(static_cast<int>(reinterpret_cast<intptr_t>(out))));
  auto* named = static_cast<const FabricHandle*>(out);
  std::string path = "/proc/" + std::to_string(named->process) + "/fd/" + std::to_string(named->file);
  return import_file(made, open(path.c_str(), O_RDWR | O_CLOEXEC));
}
CUresult release_handle(CUmemGenericAllocationHandle handle) {
  Handle* held = handle_of(handle);
  if (--held->users == 0) {
    close(held->file);
    delete held;
  }
  return CUDA_SUCCESS;
}
CUresult map(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long) {
  hocketMoved();
  char* start = reinterpret_cast<char*>(address);
  Handle* held = handle_of(handle);
  if (held->multicast) {
    map_multicast(start, bytes, held->file);
  } else {
    void* mapped = mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, held->file,
                        static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  remember(start, bytes, held->device);
  held->users++;
  std::lock_guard<std::mutex> lock(mappings_lock);
  mappings[start] = {held, bytes};
  return CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr address, size_t bytes) {
  char* start = reinterpret_cast<char*>(address);
  std::unique_lock<std::mutex> lock(mappings_lock);
  auto found = mappings.find(start);
  if (found == mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  Handle* held = found->second.handle;
  mappings.erase(found);
  lock.unlock();
  forget(start);
  unmap_multicast(start);
  mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return release_handle(reinterpret_cast<CUmemGenericAllocationHandle>(held));
}
CUresult retain(CUmemGenericAllocationHandle* handle, void* address) {
  std::lock_guard<std::mutex> lock(mappings_lock);
  auto after = mappings.upper_bound(static_cast<char*>(address));
  if (after == mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
  auto found = std::prev(after);
  if (static_cast<char*>(address) >= found->first + found->second.bytes) return CUDA_ERROR_INVALID_VALUE;
  found->second.handle->users++;
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(found->second.handle);
  return CUDA_SUCCESS;
}
CUresult handle_properties(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  memset(properties, 0, sizeof *properties);
  properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties->requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties->location = {CU_MEM_LOCATION_TYPE_DEVICE, handle_of(handle)->device};
  return CUDA_SUCCESS;
}
CUresult multicast_create(CUmemGenericAllocationHandle* made, const CUmulticastObjectProp* wanted) {
  int file = memfd_create("hocket-multicast", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(kMulticastMark)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *made = reinterpret_cast<CUmemGenericAllocationHandle>(new Handle{file, wanted->size, current_device(), true, {1}});
  return CUDA_SUCCESS;
}
CUresult multicast_granularity(size_t* bytes, const CUmulticastObjectProp*, CUmulticastGranularity_flags) {
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}
CUresult multicast_bind_memory(CUmemGenericAllocationHandle object, size_t offset, CUmemGenericAllocationHandle memory,
                               size_t memory_offset, size_t bytes, unsigned long long) {
  bool bound = bind_multicast(handle_of(object)->file, offset, handle_of(memory)->file, memory_offset, bytes);
  return bound ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult multicast_bind_address(CUmemGenericAllocationHandle object, size_t offset, CUdeviceptr memory, size_t bytes,
                                unsigned long long) {
  char* address = reinterpret_cast<char*>(memory);
  CUmemGenericAllocationHandle behind;
  if (retain(&behind, address) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  size_t within = static_cast<size_t>(address - allocation_of(address).start);
  CUresult done = multicast_bind_memory(object, offset, behind, within, bytes, 0);
  release_handle(behind);
  return done;
}
template <typename Word>
CUresult write_value(CUstream stream, CUdeviceptr address, Word value, unsigned) {
  enqueue(stream, [=] { __atomic_store_n(reinterpret_cast<Word*>(address), value, __ATOMIC_RELEASE); });
  return CUDA_SUCCESS;
}
template <typename Word>
CUresult wait_value(CUstream stream, CUdeviceptr address, Word value, unsigned how) {
  enqueue(stream, [=] {
    while (true) {
      Word now = __atomic_load_n(reinterpret_cast<Word*>(address), __ATOMIC_ACQUIRE);
      using Signed = std::make_signed_t<Word>;
      bool enough = (how & 3) == CU_STREAM_WAIT_VALUE_EQ    ? now == value
                    : (how & 3) == CU_STREAM_WAIT_VALUE_AND ? (now & value) != 0
                    : (how & 3) == CU_STREAM_WAIT_VALUE_NOR ? static_cast<Word>(~(now | value)) != 0
                                                            : static_cast<Signed>(now - value) >= 0;
      if (enough) return;
      usleep(20);
    }
  });
  return CUDA_SUCCESS;
}
CUresult batch_memory_operations(CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned) {
  for (unsigned i = 0; i < count; i++) {
    const CUstreamBatchMemOpParams& one = operations[i];
    switch (one.operation) {
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        write_value<uint32_t>(stream, one.writeValue.address, one.writeValue.value, 0);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        write_value<uint64_t>(stream, one.writeValue.address, one.writeValue.value64, 0);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        wait_value<uint32_t>(stream, one.waitValue.address, one.waitValue.value, one.waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        wait_value<uint64_t>(stream, one.waitValue.address, one.waitValue.value64, one.waitValue.flags);
        break;
      default:
        break;  // barriers and flushes: a stream's work is in order here
    }
  }
  return CUDA_SUCCESS;
}
CUresult pointer_attribute(void* out, CUpointer_attribute, CUdeviceptr) {
  memset(out, 0, 4);
  return CUDA_SUCCESS;
}
template <typename... Arguments>
CUresult nothing_to_do(Arguments...) {
  return CUDA_SUCCESS;
}
CUresult lacking() { return CUDA_ERROR_NOT_SUPPORTED; }

struct Known {
  const char* name;
  void* function;
};
#define KNOWN(name, function) {name, reinterpret_cast<void*>(function)}
const Known kKnown[] = {
    KNOWN("cuGetErrorString", error_text),
    KNOWN("cuGetErrorName", error_text),
    KNOWN("cuInit", nothing_to_do<unsigned>),
    KNOWN("cuDeviceGet", device_get),
    KNOWN("cuDeviceGetCount", device_count),
    KNOWN("cuDeviceGetAttribute", device_attribute),
    KNOWN("cuDeviceGetUuid", device_uuid),
    KNOWN("cuDevicePrimaryCtxRetain", context_retain),
    KNOWN("cuDevicePrimaryCtxRelease", nothing_to_do<CUdevice>),
    KNOWN("cuCtxCreate", context_create),
    KNOWN("cuCtxDestroy", nothing_to_do<CUcontext>),
    KNOWN("cuCtxGetCurrent", context_current),
    KNOWN("cuCtxSetCurrent", context_set),
    KNOWN("cuCtxGetDevice", context_device),
    KNOWN("cuLaunchKernel", launch),
    KNOWN("cuLaunchKernelEx", launch_ex),
    KNOWN("cuMemGetAddressRange", address_range),
    KNOWN("cuMemAddressReserve", reserve),
    KNOWN("cuMemAddressFree", free_address),
    KNOWN("cuMemCreate", create),
    KNOWN("cuMemGetAllocationGranularity", granularity),
    KNOWN("cuMemExportToShareableHandle", export_handle),
    KNOWN("cuMemImportFromShareableHandle", import_handle),
    KNOWN("cuMemGetAllocationPropertiesFromHandle", handle_properties),
    KNOWN("cuMemMap", map),
    KNOWN("cuMemUnmap", unmap),
    KNOWN("cuMemRelease", release_handle),
    KNOWN("cuMemRetainAllocationHandle", retain),
    KNOWN("cuMemSetAccess", (nothing_to_do<CUdeviceptr, size_t, const CUmemAccessDesc*, size_t>)),
    KNOWN("cuPointerGetAttribute", pointer_attribute),
    KNOWN("cuStreamWriteValue32", write_value<uint32_t>),
    KNOWN("cuStreamWriteValue64", write_value<uint64_t>),
    KNOWN("cuStreamWaitValue32", wait_value<uint32_t>),
    KNOWN("cuStreamWaitValue64", wait_value<uint64_t>),
    KNOWN("cuStreamBatchMemOp", batch_memory_operations),
    KNOWN("cuMulticastCreate", multicast_create),
    KNOWN("cuMulticastAddDevice", (nothing_to_do<CUmemGenericAllocationHandle, CUdevice>)),
    KNOWN("cuMulticastBindMem", multicast_bind_memory),
    KNOWN("cuMulticastBindAddr", multicast_bind_address),
    KNOWN("cuMulticastGetGranularity", multicast_granularity),
    KNOWN("cuMulticastUnbind", (nothing_to_do<CUmemGenericAllocationHandle, CUdevice, size_t, size_t>)),
};

std::mutex asked_lock;
std::string asked_in_vain;

cudaError_t entry_point(const char* name, void** function, cudaDriverEntryPointQueryResult* result) {
  if (result) *result = cudaDriverEntryPointSuccess;
  for (const Known& known : kKnown)
    if (strcmp(known.name, name) == 0) {
      *function = known.function;
      return cudaSuccess;
    }
  std::lock_guard<std::mutex> held(asked_lock);
  if (asked_in_vain.find(name) == std::string::npos) asked_in_vain += std::string(name) + "\n";
  *function = reinterpret_cast<void*>(lacking);
  return cudaSuccess;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const char* hocketLacking() { return asked_in_vain.c_str(); }
extern "C" __attribute__((visibility("default"))) cudaError_t cudaGetDriverEntryPointByVersion(
    const char* name, void** function, unsigned, unsigned long long, cudaDriverEntryPointQueryResult* result) {
  return entry_point(name, function, result);
}
