#include "unawaited_write.hpp"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace apir {

// Who has the descriptor as well, as workers have, can make it one that waits; so a terminal or pipe is opened anew, each time, for QEMU may
// exchange what its standard error leads to. Where it may not be opened, poll() before has to do.
ssize_t write_unawaited(int fd, const char *bytes, size_t size) {
    pollfd there{fd, POLLOUT, 0};
    if (poll(&there, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    struct stat what {};
    if (fstat(fd, &what) != 0) return -1;
    if (S_ISSOCK(what.st_mode)) return send(fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    int own = -1;
    if (S_ISCHR(what.st_mode) || S_ISFIFO(what.st_mode))
        own = open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0) return write(fd, bytes, size);
    const ssize_t written = write(own, bytes, size);
    const int cause = errno;
    close(own);
    errno = cause;
    return written;
}

int open_unawaited(const char *path, int flags) {
    const int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | flags, 0644);
    // Who else writes there, as libraries do to a worker's standard error, may have to wait.
    if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

} // namespace apir
