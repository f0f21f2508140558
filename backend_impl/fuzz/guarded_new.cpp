// Arrays and aligned memory that libraries allocate end where a page begins that nobody may touch: ggml-cpu's working memory is the one,
// its buffers are the other, and a kernel that leaves either dies there instead of spoiling the heap. Not with a sanitizer, which has
// its own ways.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <thread>

#ifndef APIR_SANITIZED

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

// Aligned memory that is guarded, for free() to know it again. Nothing in here may allocate.
class Guarded {
  public:
    // False when there is no place for one more.
    bool add(void *memory, size_t mapped) {
        Turn turn(*this);
        for (Entry &each : entries_) {
            if (each.memory != nullptr) continue;
            each = {memory, mapped};
            return true;
        }
        return false;
    }
    // What was mapped for it; 0 for what is none.
    size_t remove(void *memory) {
        Turn turn(*this);
        for (Entry &each : entries_) {
            if (each.memory != memory) continue;
            each.memory = nullptr;
            return each.mapped;
        }
        return 0;
    }

  private:
    struct Entry {
        void *memory;
        size_t mapped;
    };
    struct Turn {
        explicit Turn(Guarded &owner) : taken(owner.taken_) {
            while (taken.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
        }
        ~Turn() { taken.clear(std::memory_order_release); }
        std::atomic_flag &taken;
    };
    std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
    Entry entries_[64] = {};
};

Guarded guarded;
constexpr size_t least_guarded = page, most_guarded = size_t{1} << 30;

} // namespace

extern "C" void *__libc_memalign(size_t alignment, size_t size);
extern "C" void __libc_free(void *memory);

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

// As far towards the guard as the alignment lets it.
extern "C" EXPORTED int posix_memalign(void **memory, size_t wanted_alignment, size_t size) noexcept {
    *memory = nullptr;
    size_t body = (size + page - 1) / page * page;
    bool guardable = size >= least_guarded && size <= most_guarded && wanted_alignment <= page;
    void *start = guardable ? mmap(nullptr, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
    if (start != MAP_FAILED) {
        uint8_t *end = static_cast<uint8_t *>(start) + body;
        mprotect(end, page, PROT_NONE);
        uint8_t *at = end - (size + wanted_alignment - 1) / wanted_alignment * wanted_alignment;
        if (guarded.add(at, body + page)) {
            *memory = at;
            return 0;
        }
        munmap(start, body + page);
    }
    *memory = __libc_memalign(wanted_alignment, size);
    return *memory == nullptr ? ENOMEM : 0;
}

extern "C" EXPORTED void free(void *memory) noexcept {
    size_t mapped = reinterpret_cast<uintptr_t>(memory) % alignment == 0 && memory != nullptr ? guarded.remove(memory) : 0;
    if (mapped == 0) return __libc_free(memory);
    munmap(reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(memory) / page * page), mapped);
}

#endif
