#pragma once

// What differs between the machines that the interpreter is compiled for: GPUs, by NVRTC or hiprtc, without any header,
// and threads of this machine's processors.

#if defined(__CUDACC__) || defined(__HIP__)
#define HOCKET_ON_GPU 1
#else
#define HOCKET_ON_GPU 0
#endif

#if HOCKET_ON_GPU

#if defined(__HIP__)
#define HOCKET_DEVICE __attribute__((device, always_inline)) inline
#define HOCKET_KERNEL(lanes) __attribute__((global, amdgpu_flat_work_group_size(lanes, lanes)))
#define HOCKET_SHARED static __attribute__((shared))
#else
#define HOCKET_DEVICE __device__ __forceinline__
#define HOCKET_KERNEL(lanes) __global__ __launch_bounds__(lanes, 1)
#define HOCKET_SHARED __shared__
#endif

#else

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>

#define HOCKET_DEVICE inline

#endif

namespace hocket::device {

#if HOCKET_ON_GPU
// There may be no header, or one that has these as other types.
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
#endif

/// One load or store of a GPU's thread.
struct alignas(16) Pack {
  uint32_t words[4];
};

#if HOCKET_ON_GPU || defined(HOCKET_AS_GPUS_ALIGN)

/// Whether a unit can be at that address: GPUs read and write only at multiples of a unit's size.
template <typename Unit>
HOCKET_DEVICE bool may_hold(const uint8_t* place) {
  return reinterpret_cast<uint64_t>(place) % sizeof(Unit) == 0;
}
template <typename Unit>
HOCKET_DEVICE Unit load_unit(const uint8_t* place) {
  return *reinterpret_cast<const Unit*>(place);
}
template <typename Unit>
HOCKET_DEVICE void store_unit(uint8_t* place, const Unit& value) {
  *reinterpret_cast<Unit*>(place) = value;
}

#else

// Processors read and write units at any address.
template <typename Unit>
bool may_hold(const uint8_t*) {
  return true;
}
template <typename Unit>
Unit load_unit(const uint8_t* place) {
  Unit unit;
  std::memcpy(&unit, place, sizeof(Unit));
  return unit;
}
template <typename Unit>
void store_unit(uint8_t* place, const Unit& value) {
  std::memcpy(place, &value, sizeof(Unit));
}

#endif

#if HOCKET_ON_GPU

// AMD's compiler by its built-ins alone, so that it needs no header: hipcc, hiprtc and plain clang take it alike.
#if defined(__HIP__)

/// The threads of a block, and which of them this is.
struct Lanes {
  HOCKET_DEVICE int32_t lane() const { return static_cast<int32_t>(__builtin_amdgcn_workitem_id_x()); }
  HOCKET_DEVICE int32_t count() const { return __builtin_amdgcn_workgroup_size_x(); }
  /// Until all lanes have come here; what each did before is seen by all after.
  HOCKET_DEVICE void meet() const {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  }
};
HOCKET_DEVICE int32_t block_number() { return static_cast<int32_t>(__builtin_amdgcn_workgroup_id_x()); }

HOCKET_DEVICE uint64_t load_acquire(const uint64_t* word) {
  return __hip_atomic_load(word, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
HOCKET_DEVICE void store_release(uint64_t* word, uint64_t value) {
  __hip_atomic_store(word, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
HOCKET_DEVICE uint64_t load_relaxed(const uint64_t* word) {
  return __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
HOCKET_DEVICE void store_relaxed(uint64_t* word, uint64_t value) {
  __hip_atomic_store(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
HOCKET_DEVICE uint64_t clock_ns() { return __builtin_amdgcn_s_memrealtime() * 10; }  // of 100 MHz
HOCKET_DEVICE uint64_t add_and_get(uint64_t* word) {
  return __hip_atomic_fetch_add(word, uint64_t{1}, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) + 1;
}
HOCKET_DEVICE bool claim(uint64_t* word, uint64_t value) {
  uint64_t expected = 0;
  return __hip_atomic_compare_exchange_strong(word, &expected, value, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE,
                                              __HIP_MEMORY_SCOPE_SYSTEM);
}

#else

/// The threads of a block, and which of them this is.
struct Lanes {
  HOCKET_DEVICE int32_t lane() const { return threadIdx.x; }
  HOCKET_DEVICE int32_t count() const { return blockDim.x; }
  /// Until all lanes have come here; what each did before is seen by all after.
  HOCKET_DEVICE void meet() const { __syncthreads(); }
};
HOCKET_DEVICE int32_t block_number() { return static_cast<int32_t>(blockIdx.x); }

// `.sys`: the other side may be another GPU, or the host. A release makes visible what this thread has seen, too: what
// the other lanes of its block wrote before they met.
HOCKET_DEVICE uint64_t load_acquire(const uint64_t* word) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
HOCKET_DEVICE void store_release(uint64_t* word, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
HOCKET_DEVICE uint64_t load_relaxed(const uint64_t* word) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}
HOCKET_DEVICE void store_relaxed(uint64_t* word, uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}
HOCKET_DEVICE uint64_t clock_ns() {
  uint64_t value;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(value));
  return value;
}

/// By a block that is through, after all that it wrote.
HOCKET_DEVICE uint64_t add_and_get(uint64_t* word) {
  __threadfence();
  const uint64_t before = atomicAdd(reinterpret_cast<unsigned long long*>(word), 1ULL);
  __threadfence();
  return before + 1;
}
/// Whether this was the first to put something in place of 0.
HOCKET_DEVICE bool claim(uint64_t* word, uint64_t value) {
  return atomicCAS_system(reinterpret_cast<unsigned long long*>(word), 0ULL, static_cast<unsigned long long>(value)) ==
         0;
}

#endif

HOCKET_DEVICE void give_way(int32_t) {}
HOCKET_DEVICE void disturb() {}

#else

static_assert(std::atomic_ref<uint64_t>::is_always_lock_free, "words between processes");

/// So many threads stand for a block's; a block of one does not wait for itself.
struct Lanes {
  int32_t number;
  int32_t size;
  void (*wait)(void*);  ///< for the others of the block
  void* place;

  int32_t lane() const { return number; }
  int32_t count() const { return size; }
  void meet() const {
    if (size > 1) wait(place);
  }
};

// Windows are shared with other processes, so words are plain, and atomic where they are used.
inline uint64_t load_acquire(const uint64_t* word) {
  return std::atomic_ref(*const_cast<uint64_t*>(word)).load(std::memory_order_acquire);
}
inline void store_release(uint64_t* word, uint64_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_release);
}
inline uint64_t load_relaxed(const uint64_t* word) {
  return std::atomic_ref(*const_cast<uint64_t*>(word)).load(std::memory_order_relaxed);
}
inline void store_relaxed(uint64_t* word, uint64_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_relaxed);
}
/// For time limits alone.
inline uint64_t clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
inline uint64_t add_and_get(uint64_t* word) {
  return std::atomic_ref(*word).fetch_add(1, std::memory_order_acq_rel) + 1;
}
inline bool claim(uint64_t* word, uint64_t value) {
  uint64_t expected = 0;
  return std::atomic_ref(*word).compare_exchange_strong(expected, value, std::memory_order_acq_rel);
}
/// Called between two looks at a word, of which there were so many: lets the thread that is waited for have the core.
void give_way(int32_t looks);
/// In tests stops for a while, now and then, as a thread may anywhere.
void disturb();

#endif

}  // namespace hocket::device
