// The stand-in for CUDA as NCCL uses it: streams and events in order, memory shared by files, multicast.
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <atomic>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <vector>

#include "device.hpp"

using namespace hocket::stand_in;

namespace {

template <typename Function>
Function* driver(const char* name) {
  void* found = nullptr;
  cudaGetDriverEntryPointByVersion(name, &found, 13000, 0, nullptr);
  return reinterpret_cast<Function*>(found);
}

void streams_wait_for_events() {
  cudaStream_t first, second;
  cudaEvent_t event;
  cudaStreamCreateWithFlags(&first, 0);
  cudaSetDevice(1);
  cudaStreamCreateWithFlags(&second, 0);
  cudaEventCreateWithFlags(&event, 0);
  assert(cudaEventQuery(event) == cudaSuccess);  // never recorded
  static std::atomic<int> value{0};
  cudaLaunchHostFunc(first, [](void*) { usleep(50000), value = 1; }, nullptr);
  cudaEventRecord(event, first);
  assert(cudaEventQuery(event) == cudaErrorNotReady);
  cudaStreamWaitEvent(second, event, 0);
  static int seen = -1;
  cudaLaunchHostFunc(second, [](void*) { seen = value; }, nullptr);
  cudaStreamSynchronize(second);
  assert(seen == 1 && cudaEventQuery(event) == cudaSuccess);
  cudaEventDestroy(event);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

void copies_keep_what_the_host_had() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, 0);
  void* device = nullptr;
  assert(cudaMalloc(&device, 8) == cudaSuccess);
  cudaLaunchHostFunc(stream, [](void*) { usleep(20000); }, nullptr);
  {
    std::vector<char> host = {'h', 'o', 'c', 'k', 'e', 't', '!', 0};
    cudaMemcpyAsync(device, host.data(), host.size(), cudaMemcpyHostToDevice, stream);
  }
  cudaStreamSynchronize(stream);
  assert(strcmp(static_cast<char*>(device), "hocket!") == 0);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, device);
  assert(attributes.type == cudaMemoryTypeDevice && attributes.device == 1);
  cudaFree(device);
  cudaPointerGetAttributes(&attributes, device);
  assert(attributes.type == cudaMemoryTypeUnregistered);
  cudaStreamDestroy(stream);
}

CUdeviceptr mapped(CUmemGenericAllocationHandle handle, size_t bytes) {
  CUdeviceptr address = 0;
  assert(driver<CUresult(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long)>("cuMemAddressReserve")(
             &address, bytes, 0, 0, 0) == CUDA_SUCCESS);
  assert(driver<CUresult(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long)>("cuMemMap")(
             address, bytes, 0, handle, 0) == CUDA_SUCCESS);
  return address;
}

void memory_is_shared_by_files_and_by_multicast() {
  constexpr size_t bytes = size_t{2} << 20;
  auto* create =
      driver<CUresult(CUmemGenericAllocationHandle*, size_t, const CUmemAllocationProp*, unsigned long long)>(
          "cuMemCreate");
  auto* give = driver<CUresult(void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType, unsigned long long)>(
      "cuMemExportToShareableHandle");
  auto* take = driver<CUresult(CUmemGenericAllocationHandle*, void*, CUmemAllocationHandleType)>(
      "cuMemImportFromShareableHandle");
  CUmemGenericAllocationHandle one, two, again, group;
  assert(create(&one, bytes, nullptr, 0) == CUDA_SUCCESS && create(&two, bytes, nullptr, 0) == CUDA_SUCCESS);
  int file = -1;
  assert(give(&file, one, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) == CUDA_SUCCESS);
  assert(take(&again, reinterpret_cast<void*>(static_cast<intptr_t>(file)), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ==
         CUDA_SUCCESS);
  close(file);
  CUmemFabricHandle fabric;
  CUmemGenericAllocationHandle over_fabric;
  assert(give(&fabric, one, CU_MEM_HANDLE_TYPE_FABRIC, 0) == CUDA_SUCCESS);
  assert(take(&over_fabric, &fabric, CU_MEM_HANDLE_TYPE_FABRIC) == CUDA_SUCCESS);
  auto* first = reinterpret_cast<uint64_t*>(mapped(one, bytes));
  auto* second = reinterpret_cast<uint64_t*>(mapped(two, bytes));
  first[3] = 17;
  assert(reinterpret_cast<uint64_t*>(mapped(again, bytes))[3] == 17);
  assert(reinterpret_cast<uint64_t*>(mapped(over_fabric, bytes))[3] == 17);

  CUmulticastObjectProp wanted{};
  wanted.size = bytes;
  assert(driver<CUresult(CUmemGenericAllocationHandle*, const CUmulticastObjectProp*)>("cuMulticastCreate")(
             &group, &wanted) == CUDA_SUCCESS);
  for (CUmemGenericAllocationHandle memory : {one, two})
    assert(driver<CUresult(CUmemGenericAllocationHandle, size_t, CUmemGenericAllocationHandle, size_t, size_t,
                           unsigned long long)>("cuMulticastBindMem")(group, 0, memory, 0, bytes, 0) == CUDA_SUCCESS);
  auto* all = reinterpret_cast<char*>(mapped(group, bytes));
  assert(is_multicast(all + 24) && !is_multicast(first) && !is_multicast(all + bytes));
  std::vector<char*> copies = copies_of(all + 24);
  assert(copies.size() == 2 && *reinterpret_cast<uint64_t*>(copies[0]) == 17);
  *reinterpret_cast<uint64_t*>(copies[1]) = 5;
  assert(second[3] == 5);
}

void streams_wait_for_values() {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, 0);
  static uint64_t word = 0;
  static int after = 0;
  auto address = reinterpret_cast<CUdeviceptr>(&word);
  driver<CUresult(CUstream, CUdeviceptr, uint64_t, unsigned)>("cuStreamWaitValue64")(stream, address, 3, 0);
  cudaLaunchHostFunc(stream, [](void*) { after = 1; }, nullptr);
  usleep(20000);
  assert(after == 0);
  __atomic_store_n(&word, 4, __ATOMIC_RELEASE);
  cudaStreamSynchronize(stream);
  assert(after == 1);
}

}  // namespace

int main() {
  int count = 0;
  cudaGetDeviceCount(&count);
  assert(count == 2);
  streams_wait_for_events();
  copies_keep_what_the_host_had();
  memory_is_shared_by_files_and_by_multicast();
  streams_wait_for_values();
  void* lacking = nullptr;
  cudaGetDriverEntryPointByVersion("cuNoSuchThing", &lacking, 13000, 0, nullptr);
  assert(strcmp(hocketLacking(), "cuNoSuchThing\n") == 0 &&
         reinterpret_cast<CUresult (*)()>(lacking)() != CUDA_SUCCESS);
  puts("passed");
  fflush(stdout);
  _exit(0);  // streams' threads are never taken down
}
