// Ways to copy memory, of which the best is what a transfer is held against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace apir::bench {

struct CopyFloor {
    std::string name;
    std::function<void(uint8_t *to, const uint8_t *from, size_t size)> copy;
};

// Plain memcpy, the guest library's own loops, and five of all of these by two threads at once, as the lanes of a large transfer are.
std::vector<CopyFloor> copy_floors();

} // namespace apir::bench
