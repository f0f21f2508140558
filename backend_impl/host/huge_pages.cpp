#include "huge_pages.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace apir::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::duration longest_gathering = std::chrono::seconds(1);
// Between two looks at the clock; each call has the kernel tidy up on all processors, which takes tens of microseconds.
constexpr size_t gathered_at_once = size_t{32} << 20;

struct Part {
    uint8_t *begin;
    size_t size;
};

// What whole huge pages fit into.
Part whole_pages(void *memory, size_t size) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(memory);
    const uintptr_t first = (from + huge_page - 1) / huge_page * huge_page;
    const uintptr_t end = (from + size) / huge_page * huge_page;
    return {static_cast<uint8_t *>(memory) + (first - from), first < end ? end - first : 0};
}

// Bytes, without having to swap; 0 where the system does not say.
uint64_t available_memory() {
    const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen("/proc/meminfo", "re"), [](FILE *open) { return open ? std::fclose(open) : 0; });
    char line[128];
    unsigned long long kib = 0;
    while (file && std::fgets(line, sizeof line, file.get()))
        if (std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1) return uint64_t{kib} << 10;
    return 0;
}

} // namespace

void wish_for_huge_pages(void *memory, size_t size) {
    const Part part = whole_pages(memory, size);
    if (part.size != 0) madvise(part.begin, part.size, MADV_HUGEPAGE);
}

void gather_huge_pages(void *memory, size_t size) {
    if (size < 2 * huge_page || size > available_memory() / 2) return;
    const Part part = whole_pages(memory, size);
    const Clock::time_point until = Clock::now() + longest_gathering;
    for (size_t done = 0; done < part.size && Clock::now() < until; done += gathered_at_once) {
        uint8_t *piece = part.begin + done;
        const size_t bytes = std::min(gathered_at_once, part.size - done);
        // Of a part of a file that has no page at all the kernel takes it that it is gone.
        for (size_t at = 0; at < bytes; at += huge_page) static_cast<void>(*static_cast<volatile uint8_t *>(piece + at));
        // Some page of it may be in use elsewhere at this moment (EAGAIN); it does what it can of the rest.
        if (madvise(piece, bytes, MADV_COLLAPSE) != 0 && errno != EAGAIN) return;
    }
}

} // namespace apir::host
