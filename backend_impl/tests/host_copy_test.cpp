// Copies past the caches: all bytes and no others, around the sizes at which another way is taken, wherever they lie.
// And how it is found out how far two cores' caches are apart.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include "host/cache_distance.hpp"
#include "host/cache_lines.hpp"
#include "host/processor_features.hpp"
#include "host_expect.hpp"
#include "processors.hpp"

using namespace apir::host;
using namespace apir::test;

namespace {

constexpr size_t line = 64;
constexpr size_t room = 2 * line;
constexpr uint8_t untouched = 0xee;

void there_and_no_further(size_t size, size_t to_at, size_t from_at) {
    std::vector<uint8_t> from(size + room);
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i * 167 + i / 251);
    std::vector<uint8_t> to(size + 2 * room, untouched);
    const size_t aligned = (line - reinterpret_cast<uintptr_t>(to.data()) % line) % line;
    const size_t begin = aligned + to_at;
    copy_past_caches(to.data() + begin, from.data() + from_at, size);
    const std::string what = std::to_string(size) + " bytes to a line's byte " + std::to_string(to_at);
    expect(size == 0 || std::memcmp(to.data() + begin, from.data() + from_at, size) == 0, what);
    for (size_t i = 0; i < to.size(); ++i)
        if (i < begin || i >= begin + size) expect(to[i] == untouched, what + ": one beside them");
}

Caches between(int read_by_other_ns, int flushed_ns) {
    return CacheDistance{std::chrono::nanoseconds(read_by_other_ns), std::chrono::nanoseconds(flushed_ns)}.caches();
}

void apart_by_clearly_more() {
    expect(between(31'000, 8'000) == Caches::apart, "four times as long: apart");
    expect(between(7'500, 3'000) == Caches::apart, "two and a half times: apart");
    expect(between(8'200, 2'600) == Caches::apart, "3.2 times: apart");
    expect(between(28'700, 4'500) == Caches::remote, "6.4 times: remote");
    expect(between(28'700, 3'100) == Caches::remote, "nine times: remote");
    expect(between(2'100, 2'700) == Caches::near, "quicker from the other's cache: not apart");
    expect(between(2'900, 2'100) == Caches::near, "some noise: not apart");
}

void through_memory_where_it_helps() {
    const size_t more = own_cache + 1;
    for (size_t size : {size_t{1}, own_cache, more}) {
        expect(!written_better_in_memory(Caches::near, size) && !read_better_in_memory(Caches::near, size), "near ones keep all");
        expect(written_better_in_memory(Caches::remote, size) && read_better_in_memory(Caches::remote, size), "remote ones nothing");
    }
    expect(written_better_in_memory(Caches::apart, own_cache), "what the other one has read into its own cache");
    expect(!written_better_in_memory(Caches::apart, more), "what has left that by itself");
    expect(!read_better_in_memory(Caches::apart, own_cache), "what the other one finds in this one's cache");
    expect(read_better_in_memory(Caches::apart, more), "what it would find nowhere near");
}

cpu_set_t only(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(processor), &one);
    return one;
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

    const cpu_set_t here = only(sched_getcpu());
    expect(sched_setaffinity(0, sizeof here, &here) == 0, "one processor");
    expect(!measure_cache_distance(), "one processor has no other's cache");
    after = apir::allowed_processors();
    expect(CPU_EQUAL(&here, &after) != 0, "nor gets another one for that");
    sched_setaffinity(0, sizeof before, &before);
}

// A thread that lets no ordinary one onto its processor: until it is told to end, or for as long as the system surely lets it.
class Hog {
  public:
    explicit Hog(int processor) : thread_([this, processor] { spin(processor); }) {
        while (state_ == State::starting) std::this_thread::yield();
    }
    ~Hog() {
        stop_ = true;
        thread_.join();
    }
    Hog(const Hog &) = delete;
    Hog &operator=(const Hog &) = delete;

    bool spins() const { return state_ == State::spinning; }

  private:
    enum class State { starting, spinning, ended };

    void spin(int processor) {
        const cpu_set_t there = only(processor);
        const sched_param first{1};
        if (sched_setaffinity(0, sizeof there, &there) == 0 && sched_setscheduler(0, SCHED_FIFO, &first) == 0) {
            const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(4000);
            state_ = State::spinning;
            while (!stop_ && std::chrono::steady_clock::now() < until) {}
        }
        state_ = State::ended;
    }

    std::atomic<State> state_{State::starting};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// The other processor is had by nobody: neither the measuring nor its end may wait for it.
void given_up_in_time() {
    const cpu_set_t before = apir::allowed_processors();
    const int here = sched_getcpu();
    int other = 0;
    while (other < CPU_SETSIZE && (other == here || CPU_ISSET(static_cast<size_t>(other), &before) == 0)) ++other;
    if (here < 0 || other == CPU_SETSIZE) return;
    cpu_set_t both = only(here);
    expect(sched_setaffinity(0, sizeof both, &both) == 0, "not where the other one goes");
    Hog hog(other);
    if (hog.spins()) {
        CPU_SET(static_cast<size_t>(other), &both);
        expect(sched_setaffinity(0, sizeof both, &both) == 0, "two processors");
        expect(!measure_cache_distance(), "nothing is known of a processor that cannot be had");
        expect(hog.spins(), "it ends while that one is taken");
        const cpu_set_t after = apir::allowed_processors();
        expect(CPU_EQUAL(&both, &after) != 0, "the thread may still go to both");
    } else std::fprintf(stderr, "no real-time thread may be had: not looked at what happens beside one\n");
    sched_setaffinity(0, sizeof before, &before);
}

int measured = 0;
int read_by_other_ns = 2'100;
bool measurable = true;

std::optional<CacheDistance> told() {
    ++measured;
    if (!measurable) return std::nullopt;
    return CacheDistance{std::chrono::nanoseconds(read_by_other_ns), std::chrono::nanoseconds(2'600)};
}

void looked_at_again_when_it_is_worth_it() {
    constexpr size_t piece = CacheWatch::worth / 8;
    CacheWatch watch(told);
    CacheWatch::Clock::time_point now{};
    auto go = [&](size_t pieces) {
        Caches caches = Caches::near;
        for (size_t i = 0; i < pieces; ++i) caches = watch.caches(piece, now);
        return caches;
    };
    read_by_other_ns = 8'200;
    measurable = false;
    expect(watch.caches(CacheWatch::first_worth - 1, now) == Caches::near && measured == 0, "little: not measured");
    expect(watch.caches(1, now) == Caches::near && measured == 1, "enough for the first time, but not to be had");
    measurable = true;
    expect(watch.caches(CacheWatch::first_worth, now) == Caches::near && measured == 1, "not again at once");
    now += CacheWatch::period;
    measured = 0;
    expect(watch.caches(1, now) == Caches::apart && measured == 1, "that little is enough until it is known: measured, and apart");
    read_by_other_ns = 2'100;
    expect(go(100) == Caches::apart && measured == 1, "just measured: as it was");
    now += CacheWatch::period - std::chrono::nanoseconds(1);
    expect(go(1) == Caches::apart && measured == 1, "a moment too early");
    now += std::chrono::nanoseconds(1);
    expect(go(1) == Caches::near && measured == 2, "measured again: near");
    now += 10 * CacheWatch::period;
    read_by_other_ns = 28'000;
    expect(go(7) == Caches::near && measured == 2, "long ago, but little since");
    measurable = false;
    expect(go(1) == Caches::near && measured == 3, "not to be had: as it was");
    now += CacheWatch::period;
    measurable = true;
    expect(go(8) == Caches::remote && measured == 4, "to be had again");
    now += CacheWatch::period;
    measurable = false;
    expect(go(8) == Caches::remote && measured == 5, "not to be had: as far apart as it was");
}

void what_is_demoted_is_as_it_was(size_t size, size_t at) {
    std::vector<uint8_t> bytes(size + at + 64);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 167 + i / 251);
    const std::vector<uint8_t> before = bytes;
    demote(bytes.data() + at, size);
    expect(bytes == before, std::to_string(size) + " bytes are others");
}

#if defined(__x86_64__)
// The kernel may keep one to itself, but makes none up.
void features_are_those_that_the_kernel_tells() {
    std::ifstream cpuinfo("/proc/cpuinfo");
    std::string word;
    const ExtendedFeatures features = ExtendedFeatures::own();
    while (cpuinfo >> word) {
        if (word == "clflushopt") expect(features.clflushopt(), word);
        if (word == "cldemote") expect(features.cldemote(), word);
    }
}
#endif

} // namespace

int main() {
#if defined(__x86_64__)
    features_are_those_that_the_kernel_tells();
#endif
    looked_at_again_when_it_is_worth_it();
    apart_by_clearly_more();
    through_memory_where_it_helps();
    measured_in_passing();
    given_up_in_time();
    constexpr size_t kib = 1024;
    for (size_t size : {size_t{0}, size_t{1}, line, 16 * kib - 1, 16 * kib, 16 * kib + 1, 16 * kib + 63, 16 * kib + line, 217088 + size_t{15},
                        448 * kib, 448 * kib + 1, 1024 * kib, 1024 * kib + 1, 4096 * kib + 63})
        for (size_t to_at : {size_t{0}, size_t{1}, size_t{16}})
            for (size_t from_at : {size_t{0}, size_t{5}})
                there_and_no_further(size, to_at, from_at);
    for (size_t size : {size_t{0}, size_t{1}, 16 * kib, 16 * kib + 1, 1024 * kib + 63})
        for (size_t at : {size_t{0}, size_t{1}, size_t{63}}) what_is_demoted_is_as_it_was(size, at);
    // Nothing may be read or written for no bytes.
    demote(nullptr, 0);
    copy_past_caches(nullptr, nullptr, 0);
    return failures == 0 ? 0 : 1;
}
