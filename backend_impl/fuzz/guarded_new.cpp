// Arrays that libraries allocate end where a page begins that nobody may touch: ggml-cpu's working memory is one, and a kernel that
// leaves it dies there instead of spoiling the heap. Not with a sanitizer, which has its own ways.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

constexpr size_t page = 4096;
constexpr size_t alignment = 16;

// Stands in front of the array.
struct Head {
    void *start;
    size_t mapped;
};
static_assert(sizeof(Head) == alignment);

void *allocated(size_t size) {
    size_t body = (size + sizeof(Head) + alignment + page - 1) / page * page;
    if (body < size) return nullptr;
    void *start = mmap(nullptr, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    uint8_t *end = static_cast<uint8_t *>(start) + body;
    mprotect(end, page, PROT_NONE);
    uint8_t *array = end - (size + alignment - 1) / alignment * alignment;
    new (array - sizeof(Head)) Head{start, body + page};
    return array;
}

} // namespace

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void *operator new[](size_t size) {
    void *array = allocated(size);
    if (array == nullptr) throw std::bad_alloc();
    return array;
}

EXPORTED void *operator new[](size_t size, const std::nothrow_t &) noexcept { return allocated(size); }

EXPORTED void operator delete[](void *array) noexcept {
    if (array == nullptr) return;
    Head head = *(reinterpret_cast<Head *>(array) - 1);
    munmap(head.start, head.mapped);
}

EXPORTED void operator delete[](void *array, size_t) noexcept { operator delete[](array); }
EXPORTED void operator delete[](void *array, const std::nothrow_t &) noexcept { operator delete[](array); }

#endif
