#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace hocket::chakra {

/// Allocates large arrays in huge pages where the system has them: the page faults of fresh columns would otherwise
/// cost as much as reading the trace.
template <typename T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>&) {}

  T* allocate(size_t count) {
    const size_t size = count * sizeof(T);
    if (size < kHugePage / 2) return static_cast<T*>(::operator new(size, kAlignment));
    const size_t rounded = (size + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = ::operator new(rounded, std::align_val_t(kHugePage));
#ifdef MADV_HUGEPAGE
    madvise(memory, rounded, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, size_t count) {
    const bool small = count * sizeof(T) < kHugePage / 2;
    ::operator delete(memory, small ? kAlignment : std::align_val_t(kHugePage));
  }

  friend bool operator==(const HugePageAllocator&, const HugePageAllocator&) { return true; }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  static constexpr std::align_val_t kAlignment{64};
};

}  // namespace hocket::chakra
