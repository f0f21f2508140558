#include "copy_loops.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

#include "guest/bulk_copy.hpp"

namespace apir::bench {

namespace {

constexpr size_t page = 4096;
constexpr const char *any_processors = "pieces"; // the loop that every processor has

void library_copy(uint8_t *to, const uint8_t *from, size_t size) { std::memcpy(to, from, size); }

// Not all, for each takes measuring time: what emulated guests copy with, and what every processor can.
bool is_for_two_threads(const std::string &name) { return name == any_processors || name.rfind("registers", 0) == 0; }

CopyFloor by_two_threads(const guest::CopyLoop &loop) {
    auto copy = [loop](uint8_t *to, const uint8_t *from, size_t size) {
        const size_t half = size / 2 / page * page;
        std::thread second([&] { loop.copy(to + half, from + half, size - half); });
        loop.copy(to, from, half);
        second.join();
    };
    return {std::string("two_threads_") + loop.name, copy};
}

// One thread's part, a place's bytes at a time.
void copy_through(const guest::CopyLoop &loop, uint8_t *memory, uint8_t *place, size_t size, bool out) {
    for (size_t done = 0; done < size; done += place_size) {
        const size_t n = std::min(place_size, size - done);
        if (out) loop.copy(place, memory + done, n);
        else loop.copy(memory + done, place, n);
    }
}

void copy_through_two(const guest::CopyLoop &loop, uint8_t *memory, uint8_t *places, size_t size, bool out) {
    const size_t half = size / 2 / page * page;
    std::thread second([&] { copy_through(loop, memory + half, places + place_size, size - half, out); });
    copy_through(loop, memory, places, half, out);
    second.join();
}

} // namespace

std::vector<PlaceCopy> place_copies() {
    std::vector<guest::CopyLoop> loops;
    for (const guest::CopyLoop &loop : guest::copy_loops())
        if (is_for_two_threads(loop.name)) loops.push_back(loop);
    if (loops.size() > 1) // what emulated guests copy with, only
        loops.erase(std::find_if(loops.begin(), loops.end(), [](const auto &loop) { return std::string(loop.name) == any_processors; }));
    std::vector<PlaceCopy> copies;
    for (const guest::CopyLoop &loop : loops) {
        copies.push_back({loop.name, [loop](auto... all) { copy_through(loop, all...); }});
        copies.push_back({std::string("two_threads_") + loop.name, [loop](auto... all) { copy_through_two(loop, all...); }});
    }
    return copies;
}

std::vector<CopyFloor> copy_floors() {
    const std::vector<guest::CopyLoop> loops = guest::copy_loops();
    std::vector<CopyFloor> floors{{"memcpy", library_copy}};
    for (const guest::CopyLoop &loop : loops) floors.push_back({loop.name, loop.copy});
    for (const guest::CopyLoop &loop : loops)
        if (is_for_two_threads(loop.name)) floors.push_back(by_two_threads(loop));
    return floors;
}

} // namespace apir::bench
