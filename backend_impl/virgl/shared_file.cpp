#include "shared_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace apir::virgl {
namespace {

size_t page_size() {
    static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return size;
}

} // namespace

int make_shared_file(const char *name, size_t size) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
    if (ftruncate(fd, static_cast<off_t>(size)) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        int cause = errno;
        close(fd);
        throw std::system_error(cause, std::generic_category(), "cannot size a shared file");
    }
    return fd;
}

uint8_t *map_shared_file(int fd, size_t size) {
    // No reservation: most of it is never touched.
    const auto map = [&](void *at, int fixed) {
        void *mapped = mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | fixed, fd, 0);
        if (mapped == MAP_FAILED) return static_cast<uint8_t *>(nullptr);
        madvise(mapped, size, MADV_DONTDUMP);
        return static_cast<uint8_t *>(mapped);
    };
    const auto checked = [](uint8_t *mapped) {
        if (mapped == nullptr) throw std::system_error(errno, std::generic_category(), "cannot map a shared file");
        return mapped;
    };
    if (size < huge_page) return checked(map(nullptr, 0));
    // Room for it wherever it may begin, of which the file then takes its part.
    const size_t room = size + huge_page;
    void *area = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) return checked(map(nullptr, 0));
    auto *begin = static_cast<uint8_t *>(area);
    const size_t before = (huge_page - reinterpret_cast<uintptr_t>(area) % huge_page) % huge_page;
    uint8_t *mapped = map(begin + before, MAP_FIXED);
    if (mapped == nullptr) {
        const int cause = errno;
        munmap(area, room);
        throw std::system_error(cause, std::generic_category(), "cannot map a shared file");
    }
    const size_t pages = (size + page_size() - 1) / page_size() * page_size();
    if (before != 0) munmap(begin, before);
    if (before + pages < room) munmap(mapped + pages, room - before - pages);
    return mapped;
}

} // namespace apir::virgl
