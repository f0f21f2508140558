// What is said for others to read is not waited for.
#pragma once

#include <cstddef>
#include <sys/types.h>

namespace apir {

// As write(), but where the reader of a pipe or socket, or a terminal that was stopped, would have to be waited for: -1, and errno EAGAIN. A file's disk is
// waited for.
ssize_t write_unawaited(int fd, const char *bytes, size_t size);

} // namespace apir
