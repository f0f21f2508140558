// Copies past the caches, or for another core: all bytes and no others, around the sizes at which another way is taken, wherever they lie.
// And how it is found out whether two cores' caches are apart.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <sched.h>
#include <string>
#include <vector>

#include "host/cache_distance.hpp"
#include "host/cache_lines.hpp"
#include "host_expect.hpp"
#include "processors.hpp"

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

void apart_by_clearly_more() {
    using std::chrono::nanoseconds;
    expect((CacheDistance{nanoseconds(31'000), nanoseconds(8'000)}).apart(), "four times as long: apart");
    expect(!(CacheDistance{nanoseconds(2'100), nanoseconds(2'700)}).apart(), "quicker from the other's cache: not apart");
    expect(!(CacheDistance{nanoseconds(2'900), nanoseconds(2'100)}).apart(), "some noise: not apart");
}

void measured_in_passing() {
    const cpu_set_t before = apir::allowed_processors();
    const auto start = std::chrono::steady_clock::now();
    const std::optional<CacheDistance> distance = measure_cache_distance();
    expect(std::chrono::steady_clock::now() - start < std::chrono::seconds(2), "it ends, whatever else runs");
    if (distance) {
        const auto least = std::chrono::nanoseconds(100); // of 64 KiB: more than any core writes
        expect(distance->read_by_other > least && distance->flushed > least, "both were seen");
        expect(distance->read_by_other < std::chrono::seconds(1) && distance->flushed < std::chrono::seconds(1), "both, more than once");
    }
    cpu_set_t after = apir::allowed_processors();
    expect(CPU_EQUAL(&before, &after) != 0, "the thread may go where it could before");

    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &only);
    expect(sched_setaffinity(0, sizeof only, &only) == 0, "one processor");
    expect(!measure_cache_distance(), "one processor has no other's cache");
    after = apir::allowed_processors();
    expect(CPU_EQUAL(&only, &after) != 0, "nor gets another one for that");
    sched_setaffinity(0, sizeof before, &before);
}

} // namespace

int main() {
    apart_by_clearly_more();
    measured_in_passing();
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
