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

// Plain memcpy, the guest library's own loops, and two of those by two threads at once, as the lanes of a large transfer are.
std::vector<CopyFloor> copy_floors();

// Less than caches hold, and as large as the pieces of a large transfer.
inline constexpr size_t place_size = size_t{4} << 20;

// Between memory and a place of place_size for each thread, used again and again as a transfer's slots are; `places`: of two threads. `out`: from memory.
struct PlaceCopy {
    std::string name;
    std::function<void(uint8_t *memory, uint8_t *places, size_t size, bool out)> copy;
};

// The quickest loops of a guest, by one thread and by two.
std::vector<PlaceCopy> place_copies();

} // namespace apir::bench
