// What a copy has to do.
#pragma once

#include <cstring>

#include "guest_fake.hpp"

namespace apir::guest::test {

// From unaligned memory to unaligned memory, and not a byte beside it.
template <typename Copy> void there_and_no_further(Copy copy, size_t size, size_t from_at, size_t to_at) {
    std::vector<uint8_t> from(size + 64);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 167 + i / 251);
    std::vector<uint8_t> to(size + 64, 0xee);
    copy(to.data() + to_at, from.data() + from_at, size);
    std::string what = std::to_string(size) + " bytes";
    expect(std::memcmp(to.data() + to_at, from.data() + from_at, size) == 0, what);
    for (size_t i = 0; i < to.size(); ++i)
        if (i < to_at || i >= to_at + size) expect(to[i] == 0xee, what + ": one beside them");
}

} // namespace apir::guest::test
