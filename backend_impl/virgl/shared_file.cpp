#include "shared_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace apir::virgl {

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
    void *at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "cannot map a shared file");
    return static_cast<uint8_t *>(at);
}

} // namespace apir::virgl
