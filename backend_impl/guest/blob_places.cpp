#include "blob_places.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/mman.h>

namespace apir::guest {

namespace {

constexpr size_t page = 4096;
constexpr size_t span = most_placed * page;

} // namespace

// Out of an area with room for any place nobody else is given the blob's; the rest of it is given back.
void *map_at_place(size_t number, int fd, off_t offset, size_t size) {
    if (size > SIZE_MAX - span) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    void *whole = mmap(nullptr, size + span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (whole == MAP_FAILED) return MAP_FAILED;
    auto *area = static_cast<uint8_t *>(whole);
    const size_t place = number % most_placed * place_step % most_placed * page;
    const size_t before = (place + span - reinterpret_cast<uintptr_t>(area) % span) % span;
    void *blob = mmap(area + before, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, offset);
    const int error = errno;
    if (blob == MAP_FAILED) {
        munmap(area, size + span);
    } else {
        if (before != 0) munmap(area, before);
        munmap(area + before + size, span - before);
    }
    errno = error;
    return blob;
}

} // namespace apir::guest
