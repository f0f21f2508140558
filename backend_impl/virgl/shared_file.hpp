// Anonymous shared files: what QEMU and a worker both map.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apir::virgl {

// A memfd of a fixed size: sealed, so that neither side can shrink it under the other's feet. Throws std::system_error.
int make_shared_file(const char *name, size_t size);

// Maps all of it, readable and writable. Throws std::system_error.
uint8_t *map_shared_file(int fd, size_t size);

} // namespace apir::virgl
