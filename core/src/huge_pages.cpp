#include "hocket/huge_pages.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace hocket {

void prefer_huge_pages(void* begin, size_t bytes) {
#ifdef MADV_HUGEPAGE
  // Only whole pages inside the range; advice is no promise, so nothing is done where the system takes none.
  constexpr uintptr_t kHugePage = 1 << 21;
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t from = (first + kHugePage - 1) / kHugePage * kHugePage, to = (first + bytes) / kHugePage * kHugePage;
  if (from < to) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);
#endif
}

}  // namespace hocket
