/// Counts what is allocated by this thread: by the sanitizers' hooks, or by a malloc of our own (allocations.cpp)
/// where there are none.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/// Declared here, for not every compiler comes with the sanitizers' headers.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, size_t),
                                                         void (*freed)(const volatile void*));
#endif

namespace hocket::nccl::testing {

inline thread_local uint64_t allocated = 0;

/// Allocations since it was made.
class AllocationCount {
 public:
  AllocationCount() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    static const int hooked = __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, size_t) { ++allocated; }, [](const volatile void*) {});
    static_cast<void>(hooked);
#endif
    before_ = allocated;
  }
  uint64_t count() const { return allocated - before_; }

 private:
  uint64_t before_;
};

}  // namespace hocket::nccl::testing
