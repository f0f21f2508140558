// Ways to copy memory, of which the best is what a transfer is held against.
#pragma once

#include <cstddef>

namespace apir::bench {

struct CopyLoop {
    const char *name;
    void (*copy)(void *to, const void *from, size_t size);
    bool (*usable)(); // on this processor
};

extern const CopyLoop copy_loops[];
extern const size_t copy_loop_count;

} // namespace apir::bench
