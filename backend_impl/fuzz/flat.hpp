// Whether memory stays what it is while something is done again and again: bytes each, in the heap and in the process.
#pragma once

#include <cstdio>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

namespace apir::fuzz {

inline constexpr long most_per_item = 1; // bytes

struct Memory {
    long heap = 0, resident = 0;
};

inline Memory memory() {
    malloc_trim(0);
    struct mallinfo2 heap = mallinfo2();
    std::ifstream status("/proc/self/statm");
    long total = 0, resident = 0;
    status >> total >> resident;
    return {static_cast<long>(heap.uordblks + heap.hblkhd), resident * sysconf(_SC_PAGESIZE)};
}

// Does work(count) and says what it has cost.
template <typename Work> bool grows_by(const char *what, long count, Work work) {
    Memory before = memory();
    work(count);
    Memory after = memory();
    long heap = after.heap - before.heap, resident = after.resident - before.resident;
    // The allocator moves by whole pages now and then, however few the items are.
    constexpr long page_noise = 64 * 1024;
    bool grows = heap > most_per_item * count || resident > most_per_item * count + page_noise;
    std::printf("%ld %s: heap %+.3f, resident %+.3f bytes each%s\n", count, what, static_cast<double>(heap) / static_cast<double>(count),
                static_cast<double>(resident) / static_cast<double>(count), grows ? ": memory grows" : "");
    return grows;
}

// After enough of it that all that is kept for later is there. What has grown is looked at again, for what is allocated is not resident before
// it is touched, which may be late, but only once.
template <typename Work> bool flat(const char *what, long count, Work work) {
    work(count / 10 + 5000);
    return !grows_by(what, count, work) || !grows_by(what, count, work);
}

} // namespace apir::fuzz
