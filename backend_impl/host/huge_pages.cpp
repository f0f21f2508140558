#include "huge_pages.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

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

// The number in the file's line that begins so; nullopt: there is none, or none of a number ("max").
std::optional<uint64_t> number_in(const std::string &path, const std::string &begins = "") {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        uint64_t number = 0;
        if (line.rfind(begins, 0) == 0 && std::istringstream(line.substr(begins.size())) >> number) return number;
    }
    return std::nullopt;
}

bool leaves_a_quarter(uint64_t taken, std::optional<uint64_t> available, std::optional<uint64_t> total) {
    return available && total && *available > taken && *available - taken >= *total / 4;
}

// Of the system, and of the control groups (version 2) that this process is in.
bool leaves_enough(uint64_t taken) {
    const char *system = "/proc/meminfo";
    const auto in_bytes = [](std::optional<uint64_t> kib) { return kib ? std::optional(*kib << 10) : std::nullopt; };
    if (!leaves_a_quarter(taken, in_bytes(number_in(system, "MemAvailable:")), in_bytes(number_in(system, "MemTotal:")))) return false;
    std::ifstream groups("/proc/self/cgroup");
    std::string group;
    while (std::getline(groups, group) && group.rfind("0::", 0) != 0) group.clear();
    if (group.rfind("0::", 0) != 0) return true;
    group.erase(0, 3);
    for (;;) {
        const std::string folder = "/sys/fs/cgroup" + group + "/";
        const std::optional<uint64_t> most = number_in(folder + "memory.max");
        const uint64_t used = number_in(folder + "memory.current").value_or(0);
        if (most && !leaves_a_quarter(taken, *most - std::min(*most, used), most)) return false;
        if (group.size() <= 1) return true;
        group.erase(group.rfind('/'));
    }
}

} // namespace

void wish_for_huge_pages(void *memory, size_t size) {
    const Part part = whole_pages(memory, size);
    if (part.size != 0) madvise(part.begin, part.size, MADV_HUGEPAGE);
}

void gather_huge_pages(void *memory, size_t size) {
    if (size < 2 * huge_page) return;
    const Part part = whole_pages(memory, size);
    const Clock::time_point until = Clock::now() + longest_gathering;
    for (size_t done = 0; done < part.size && Clock::now() < until; done += gathered_at_once) {
        uint8_t *piece = part.begin + done;
        const size_t bytes = std::min(gathered_at_once, part.size - done);
        if (!leaves_enough(bytes)) return;
        // Of a part of a file that has no page at all the kernel takes it that it is gone.
        for (size_t at = 0; at < bytes; at += huge_page) static_cast<void>(*static_cast<volatile uint8_t *>(piece + at));
        // Some page of it may be in use elsewhere at this moment (EAGAIN); it does what it can of the rest. A kernel that cannot says EINVAL at once.
        if (madvise(piece, bytes, MADV_COLLAPSE) != 0 && errno != EAGAIN && (errno != EINVAL || done == 0)) return;
    }
}

} // namespace apir::host
