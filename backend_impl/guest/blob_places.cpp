#include "blob_places.hpp"

#include <cstdint>
#include <sys/mman.h>

namespace apir::guest {

namespace {

constexpr size_t page = 4096;
constexpr size_t span = most_placed * page;

} // namespace

// Where there is an area with room for any place. It is given back first, and the place asked for, not insisted on: should another thread be given it
// meanwhile, or the blob not be had, nothing of theirs is lost.
void *map_at_place(size_t number, int fd, off_t offset, size_t size) {
    constexpr int both = PROT_READ | PROT_WRITE;
    void *area = MAP_FAILED;
    if (size <= SIZE_MAX - span) area = mmap(nullptr, size + span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) return mmap(nullptr, size, both, MAP_SHARED, fd, offset);
    munmap(area, size + span);
    const size_t place = number % most_placed * place_step % most_placed * page;
    const size_t before = (place + span - reinterpret_cast<uintptr_t>(area) % span) % span;
    return mmap(static_cast<uint8_t *>(area) + before, size, both, MAP_SHARED, fd, offset);
}

} // namespace apir::guest
