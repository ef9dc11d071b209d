// HIP's header for kernels, as far as RCCL's host code reads it, for any C++ compiler: the runtime's interface is
// ROCm's own, the words and types of kernels are stand-ins that no call reaches. Included before all of RCCL's files.
#pragma once
#include <hip/amd_detail/amd_hip_vector_types.h>
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

// Words of kernels
#undef __launch_bounds__
#define __launch_bounds__(...)
struct HocketIndex {
  unsigned x, y, z;
};
static HocketIndex threadIdx, blockIdx, blockDim, gridDim;
inline int atomicAdd(int* at, int value) { return __sync_fetch_and_add(at, value); }
inline unsigned __popc(unsigned bits) { return __builtin_popcount(bits); }
inline unsigned __popcll(unsigned long long bits) { return __builtin_popcountll(bits); }
inline int __ffs(unsigned bits) { return __builtin_ffs(bits); }
inline void __threadfence() {}
inline void __threadfence_system() {}
inline void __syncthreads() {}
inline unsigned long long __ballot(int) { return 0; }
inline long long wall_clock64() { return 0; }
inline long long clock64() { return 0; }
template <class T>
T __shfl(T value, int, int = 64) {
  return value;
}
template <class T>
T __ldg(const T* at) {
  return *at;
}
template <class T>
T __builtin_nontemporal_load(T* at) {
  return *at;
}
template <class T, class U>
void __builtin_nontemporal_store(T value, U* at) {
  *at = value;
}

// Numbers of kernels: their sizes count, their values do not.
#define HOCKET_NUMBER(name, bits)        \
  struct name {                          \
    bits stored;                         \
    name() = default;                    \
    name(float) : stored(0) {}           \
    operator float() const { return 0; } \
  }
HOCKET_NUMBER(__half, unsigned short);
HOCKET_NUMBER(__hip_bfloat16, unsigned short);
typedef __hip_bfloat16 hip_bfloat16;
HOCKET_NUMBER(__hip_fp8_e4m3_fnuz, unsigned char);
HOCKET_NUMBER(__hip_fp8_e5m2_fnuz, unsigned char);
HOCKET_NUMBER(rccl_float8, unsigned char);
HOCKET_NUMBER(rccl_bfloat8, unsigned char);
#undef HOCKET_NUMBER
typedef __half half;
inline __half __float2half(float) { return __half(0.F); }
inline float __half2float(__half) { return 0; }
inline __hip_bfloat16 __float2bfloat16(float) { return __hip_bfloat16(0.F); }
inline float __bfloat162float(__hip_bfloat16) { return 0; }

// Names of CUDA's driver that RCCL keeps
#define CUdevice_attribute hipDeviceAttribute_t
#define CUDA_ERROR_NOT_SUPPORTED hipErrorNotSupported
#define CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL
#define CU_STREAM_WAIT_VALUE_EQ hipStreamWaitValueEq
#define CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE
#ifndef hipHostMallocUncached
#define hipHostMallocUncached 0x10000000
#endif
