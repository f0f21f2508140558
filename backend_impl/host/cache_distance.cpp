#include "cache_distance.hpp"

#if defined(__x86_64__)
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>

#include "processor_features.hpp"
#include "processors.hpp"
#endif

namespace apir::host {

#if defined(__x86_64__)

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr size_t line = 64;
constexpr size_t block = size_t{64} << 10;
// Of both kinds, in turns.
constexpr uint32_t rounds = 16;
constexpr auto patience = 20ms;

void bind_to(int processor, pthread_t thread) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<size_t>(processor), &only);
    pthread_setaffinity_np(thread, sizeof only, &only);
}

int next_processor(const cpu_set_t &allowed, int here) {
    for (int step = 1; step < CPU_SETSIZE; ++step) {
        const int other = (here + step) % CPU_SETSIZE;
        if (CPU_ISSET(static_cast<size_t>(other), &allowed)) return other;
    }
    return here;
}

// Two threads at one block, each when it is its turn: the writer at even ones, the reader at odd ones.
class Rally {
  public:
    // Nothing when it takes too long.
    std::optional<CacheDistance> write() {
        CacheDistance best{std::chrono::nanoseconds::max(), std::chrono::nanoseconds::max()};
        for (uint32_t round = 0; round < rounds; ++round) {
            if (!await(2 * round)) return std::nullopt;
            const Clock::time_point start = Clock::now();
            for (size_t at = 0; at < block; at += sizeof(uint64_t)) *reinterpret_cast<volatile uint64_t *>(memory_.data() + at) = round;
            const std::chrono::nanoseconds took = Clock::now() - start;
            turn_.store(2 * round + 1, std::memory_order_release);
            // The reader flushed behind every odd round. Nobody had read it before the first one.
            std::chrono::nanoseconds &kind = round % 2 != 0 ? best.read_by_other : best.flushed;
            if (round != 0) kind = std::min(kind, took);
        }
        return best;
    }

    void read() {
        for (uint32_t round = 0; round < rounds && await(2 * round + 1); ++round) {
            uint64_t sum = 0;
            for (size_t at = 0; at < block; at += line) sum += *reinterpret_cast<const volatile uint64_t *>(memory_.data() + at);
            sum_ = sum;
            if (round % 2 != 0) flush_from_caches(memory_.data(), block);
            turn_.store(2 * round + 2, std::memory_order_release);
        }
    }

  private:
    bool await(uint32_t turn) {
        while (turn_.load(std::memory_order_acquire) != turn)
            if (Clock::now() > until_) return false;
        return true;
    }

    std::vector<uint8_t> memory_ = std::vector<uint8_t>(block);
    const Clock::time_point until_ = Clock::now() + patience;
    std::atomic<uint32_t> turn_{0};
    volatile uint64_t sum_ = 0;
};

} // namespace

__attribute__((target("clflushopt"))) void flush_from_caches(const void *data, size_t size) {
    const auto first = reinterpret_cast<uintptr_t>(data) / line * line;
    const auto end = reinterpret_cast<uintptr_t>(data) + size;
    for (uintptr_t at = first; at < end; at += line) _mm_clflushopt(reinterpret_cast<void *>(at));
    // What is written next, a reply, a turn or the data, comes after it.
    _mm_sfence();
}

std::optional<CacheDistance> measure_cache_distance() {
    const cpu_set_t allowed = allowed_processors();
    const int here = sched_getcpu();
    const int other = here < 0 ? here : next_processor(allowed, here);
    if (other == here || !ExtendedFeatures::own().clflushopt()) return std::nullopt;
    Rally rally;
    try {
        std::thread reader([&rally] { rally.read(); });
        // Where the reader is is for this thread alone to say, so that the last word is that it comes here.
        bind_to(other, reader.native_handle());
        bind_to(here, pthread_self());
        const std::optional<CacheDistance> distance = rally.write();
        // On its own processor it might not run for long, or never, beside a real-time thread. This library may be unloaded: no thread is left
        // behind. Of a reader that has ended already the C library takes this for a word about this thread, which is here.
        bind_to(here, reader.native_handle());
        reader.join();
        sched_setaffinity(0, sizeof allowed, &allowed);
        return distance;
    } catch (const std::system_error &) { // no more threads
        return std::nullopt;
    }
}

#else

void flush_from_caches(const void *, size_t) {}

std::optional<CacheDistance> measure_cache_distance() { return std::nullopt; }

#endif

Caches CacheWatch::caches(size_t bytes, Clock::time_point now) {
    const size_t since = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    Clock::rep due = due_.load(std::memory_order_relaxed);
    const Clock::rep at = now.time_since_epoch().count();
    const size_t enough = known_.load(std::memory_order_relaxed) ? worth : first_worth;
    if (since >= enough && at >= due && due_.compare_exchange_strong(due, at + period.count(), std::memory_order_relaxed)) {
        bytes_.store(0, std::memory_order_relaxed);
        // What cannot be measured now is as it was.
        if (const std::optional<CacheDistance> distance = measure_()) {
            caches_.store(distance->caches(), std::memory_order_relaxed);
            known_.store(true, std::memory_order_relaxed);
        }
    }
    return caches_.load(std::memory_order_relaxed);
}

} // namespace apir::host
