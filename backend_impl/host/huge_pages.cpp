#include "huge_pages.hpp"

#include <cstdint>
#include <sys/mman.h>

namespace apir::host {

void wish_for_huge_pages(void *memory, size_t size) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t first = (from + huge_page - 1) / huge_page * huge_page;
    const uintptr_t end = (from + size) / huge_page * huge_page;
    if (first < end) madvise(static_cast<uint8_t *>(memory) + (first - from), end - first, MADV_HUGEPAGE);
}

} // namespace apir::host
