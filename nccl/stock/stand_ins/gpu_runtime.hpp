// The runtime library that is stood in for: CUDA's, or HIP's where its headers say that the platform is AMD's. HIP has
// CUDA's functions and types under its own prefix, so that what does not differ is written once: `GPU(Malloc)`.
#pragma once

#ifdef __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#define GPU(name) hip##name
using PointerAttributes = hipPointerAttribute_t;
using Limit = hipLimit_t;
constexpr int kRuntimeVersion = HIP_VERSION;
constexpr auto kUnknownPointer = hipErrorInvalidValue;  // what asking for the attributes of nobody's memory gives
constexpr auto kOutOfMemory = hipErrorOutOfMemory;
#else
#include <cuda.h>
#include <cuda_runtime.h>
#define GPU(name) cuda##name
using PointerAttributes = cudaPointerAttributes;
using Limit = cudaLimit;
constexpr int kRuntimeVersion = CUDART_VERSION;
constexpr auto kUnknownPointer = cudaSuccess;
constexpr auto kOutOfMemory = cudaErrorMemoryAllocation;
#endif

#include <cstdio>

#include "device.hpp"

#define RUNTIME extern "C" __attribute__((visibility("default"))) GPU(Error_t)

namespace hocket::stand_in {

constexpr auto kSuccess = GPU(Success);

/** Counts a kernel; where somebody runs kernels, this one runs when the stream comes to it, on arguments of now. */
void launch(const void* symbol, const void* arguments, size_t bytes, unsigned blocks, unsigned threads, void* stream);

/** Memory of the host that GPUs reach. */
GPU(Error_t) allocate_of_host(void** address, size_t bytes);

/** Where the device is on its PCI bus. */
template <class Properties>
void set_place(Properties& properties, int device) {
  unsigned domain = 0, bus = 0, slot = 0;
  sscanf(bus_ids()[device].c_str(), "%x:%x:%x", &domain, &bus, &slot);
  properties.pciDomainID = static_cast<int>(domain);
  properties.pciBusID = static_cast<int>(bus);
  properties.pciDeviceID = static_cast<int>(slot);
}

/** A number that was no handle before. */
template <class Handle>
Handle fresh_handle() {
  static uintptr_t last = 64;
  return reinterpret_cast<Handle>(__sync_add_and_fetch(&last, 64));
}

}  // namespace hocket::stand_in
