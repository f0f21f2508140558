// What is said for others to read is not waited for.
#pragma once

#include <cstddef>
#include <sys/types.h>

namespace apir {

// As write(), but where the reader of a pipe or socket, or a terminal that was stopped, would have to be waited for: -1, and errno EAGAIN. A file's disk is
// waited for.
ssize_t write_unawaited(int fd, const char *bytes, size_t size);

// As open() with O_WRONLY and `flags` of it; a file that is made is anybody's to read. Nor is it waited for that somebody opens the other end of a named pipe
// (-1, and errno ENXIO), or that a line has a carrier; no terminal becomes the process's own.
int open_unawaited(const char *path, int flags);

} // namespace apir
