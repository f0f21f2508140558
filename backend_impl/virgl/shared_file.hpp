// Anonymous shared files: what QEMU and a worker both map.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apir::virgl {

// A memfd of a fixed size: sealed, so that neither side can shrink it under the other's feet. Throws std::system_error.
int make_shared_file(const char *name, size_t size);

// The size of a huge page on x86 and most others.
inline constexpr size_t huge_page = size_t{2} << 20;

// Maps all of it, readable and writable; what is as large as a huge page at a multiple of one, while there are addresses for that: then what lies in
// huge pages of the file is mapped so. A core of this process leaves it out, and it is not locked, even where all memory is. Throws
// std::system_error.
uint8_t *map_shared_file(int fd, size_t size);

// The same of a part of it, all whole pages, in place of what is mapped at `address`: there is no moment at which nothing is. False when it
// cannot be, and errno why.
bool map_shared_file_at(void *address, int fd, uint64_t offset, size_t size);

} // namespace apir::virgl
