#include "copy_loops.hpp"

#include <cstring>
#include <thread>

#include "guest/bulk_copy.hpp"

namespace apir::bench {

namespace {

constexpr size_t page = 4096;

void library_copy(uint8_t *to, const uint8_t *from, size_t size) { std::memcpy(to, from, size); }

// Not all, for each takes measuring time: what emulated guests copy with, and what every processor can.
bool is_for_two_threads(const std::string &name) { return name == "pieces" || name.rfind("registers", 0) == 0; }

CopyFloor by_two_threads(const guest::CopyLoop &loop) {
    auto copy = [loop](uint8_t *to, const uint8_t *from, size_t size) {
        const size_t half = size / 2 / page * page;
        std::thread second([&] { loop.copy(to + half, from + half, size - half); });
        loop.copy(to, from, half);
        second.join();
    };
    return {std::string("two_threads_") + loop.name, copy};
}

} // namespace

std::vector<CopyFloor> copy_floors() {
    const std::vector<guest::CopyLoop> loops = guest::copy_loops();
    std::vector<CopyFloor> floors{{"memcpy", library_copy}};
    for (const guest::CopyLoop &loop : loops) floors.push_back({loop.name, loop.copy});
    for (const guest::CopyLoop &loop : loops)
        if (is_for_two_threads(loop.name)) floors.push_back(by_two_threads(loop));
    return floors;
}

} // namespace apir::bench
