#include "shared_file.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
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

// Null when it cannot be, and errno why. Where all of a process's memory is locked (QEMU's mem-lock=on), what is mapped for use is made at
// once, all of it, and most of ours is never touched. So it is of no use at first, then not locked, and only then of use.
void *map(void *at, int fixed, int fd, uint64_t offset, size_t size) {
    void *mapped = mmap(at, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE | fixed, fd, static_cast<off_t>(offset));
    if (mapped == MAP_FAILED) return nullptr;
    munlock(mapped, size);
    madvise(mapped, size, MADV_DONTDUMP);
    if (mprotect(mapped, size, PROT_READ | PROT_WRITE) == 0) return mapped;
    const int cause = errno;
    if (fixed == 0) munmap(mapped, size);
    errno = cause;
    return nullptr;
}

// Where files may not be so large (ulimit -f), errno says so, and so does a signal, which would end the virtual machine.
bool size_file(int fd, size_t size) {
    sigset_t limit;
    sigset_t before;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    const bool sized = ftruncate(fd, static_cast<off_t>(size)) == 0;
    const int cause = errno;
    constexpr timespec at_once{};
    if (!sized && cause == EFBIG && sigismember(&before, SIGXFSZ) == 0) sigtimedwait(&limit, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = cause;
    return sized;
}

} // namespace

int make_shared_file(const char *name, size_t size) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
    if (!size_file(fd, size) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        int cause = errno;
        close(fd);
        throw std::system_error(cause, std::generic_category(), cause == EFBIG ? "cannot size a shared file (ulimit -f)" : "cannot size a shared file");
    }
    return fd;
}

bool map_shared_file_at(void *address, int fd, uint64_t offset, size_t size) {
    void *made = map(nullptr, 0, fd, offset, size);
    if (made == nullptr) return false;
    // Whole, and with nothing at the address for no moment: the guest may be able to write there.
    if (mremap(made, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, address) != MAP_FAILED) return true;
    const int cause = errno;
    munmap(made, size);
    errno = cause;
    return false;
}

uint8_t *map_shared_file(int fd, size_t size) {
    const auto anywhere = [&] {
        auto *mapped = static_cast<uint8_t *>(map(nullptr, 0, fd, 0, size));
        if (mapped == nullptr) throw std::system_error(errno, std::generic_category(), "cannot map a shared file");
        return mapped;
    };
    if (size < huge_page) return anywhere();
    // Room for it wherever it may begin, of which the file then takes its part.
    const size_t room = size + huge_page;
    void *area = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) return anywhere();
    auto *begin = static_cast<uint8_t *>(area);
    const size_t before = (huge_page - reinterpret_cast<uintptr_t>(area) % huge_page) % huge_page;
    auto *mapped = static_cast<uint8_t *>(map(begin + before, MAP_FIXED, fd, 0, size));
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
