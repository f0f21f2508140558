// Copies past the caches, or for another core: all bytes and no others, around the sizes at which another way is taken, wherever they lie.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "host/cache_lines.hpp"
#include "host_expect.hpp"

using namespace apir::host;
using namespace apir::test;

namespace {

constexpr size_t line = 64;
constexpr size_t room = 2 * line;
constexpr uint8_t untouched = 0xee;

using Copy = void (*)(void *to, const void *from, size_t size);

void there_and_no_further(Copy copy, size_t size, size_t to_at, size_t from_at) {
    std::vector<uint8_t> from(size + room);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 167 + i / 251);
    std::vector<uint8_t> to(size + 2 * room, untouched);
    const size_t aligned = (line - reinterpret_cast<uintptr_t>(to.data()) % line) % line;
    const size_t begin = aligned + to_at;
    copy(to.data() + begin, from.data() + from_at, size);
    const std::string what = std::to_string(size) + " bytes to a line's byte " + std::to_string(to_at);
    expect(size == 0 || std::memcmp(to.data() + begin, from.data() + from_at, size) == 0, what);
    for (size_t i = 0; i < to.size(); ++i)
        if (i < begin || i >= begin + size) expect(to[i] == untouched, what + ": one beside them");
}

} // namespace

int main() {
    constexpr size_t kib = 1024;
    for (size_t size : {size_t{0}, size_t{1}, line, 16 * kib - 1, 16 * kib, 16 * kib + 1, 16 * kib + 63, 16 * kib + line, 217088 + size_t{15},
                        448 * kib, 448 * kib + 1, 1024 * kib, 1024 * kib + 1, 4096 * kib + 63})
        for (size_t to_at : {size_t{0}, size_t{1}, size_t{16}})
            for (size_t from_at : {size_t{0}, size_t{5}})
                for (Copy copy : {copy_past_caches, copy_for_reader}) there_and_no_further(copy, size, to_at, from_at);
    // Nothing may be read or written for no bytes.
    for (Copy copy : {copy_past_caches, copy_for_reader}) copy(nullptr, nullptr, 0);
    return failures == 0 ? 0 : 1;
}
