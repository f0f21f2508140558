// How far the caches of two processors are from each other. Nobody tells: virtual machines are told what their hypervisor makes up, and that moves
// them about. On a machine of two virtual processors (an EPYC host) phases of seconds were seen in which one of them wrote 64 KiB that the other had
// read in 2.1 µs, and others in which that took 8.2; taken out of all caches before, it took 2.6 in both. On another one (Zen 4) there were three kinds
// of phases: 3.6, 7.5 and 28.7, and 3 to 4.5. So it is measured, again and again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>

#include "cache_lines.hpp"

namespace apir::host {

enum class Caches {
    near, // the way between them is as short as the one through memory, or shorter
    apart, // that through memory is clearly the shorter one for what is written where the other one has read, and has it in its own cache
    remote, // and for what the other one reads, too: all that goes between them is slow
};

// What it takes this processor to write a block of memory, at its quickest of several times.
struct CacheDistance {
    std::chrono::nanoseconds read_by_other; // another processor has just read what this one wrote there before
    std::chrono::nanoseconds flushed; // and taken it out of all caches

    // 3.2 times as long was still a way that another processor read by more quickly than from memory (EPYC, Zen 5), and 2.5 times one by which it took
    // as long; with 6.4 to 9.6 times (Zen 4) it took 2.4 times as long as from memory. The bound lies between.
    Caches caches() const {
        if (read_by_other > flushed * 9 / 2) return Caches::remote;
        return read_by_other > flushed * 3 / 2 ? Caches::apart : Caches::near;
    }
};

// Whether so much that was read had better be in no cache before the other processor writes there. What is more than a core's own cache holds has
// mostly left that by itself, for one that both have: then to take it out of all of them only costs time, but where they have none, either.
inline bool written_better_in_memory(Caches caches, size_t size) {
    return caches == Caches::remote || (caches == Caches::apart && size <= own_cache);
}

// Whether so much had better go past the caches when it is written for the other processor to read. A little of it is found in this one's own cache more
// quickly than in memory; of more than that most has to be fetched from farther away anyhow, and need not be read before it is written.
inline bool read_better_in_memory(Caches caches, size_t size) {
    return caches == Caches::remote || (caches == Caches::apart && size > own_cache);
}

// Between this processor and the next one that this thread may use. It takes less than a millisecond, and no more than some 20 where the other
// processor is busy, even for good: nothing is waited for there. Nothing where there is no other one, it cannot be had within 20 ms, or lines cannot
// be flushed (other than x86 with CLFLUSHOPT). Of more than two processors that need not be the one that the guest runs on, which nobody here knows.
std::optional<CacheDistance> measure_cache_distance();

// Takes memory out of all caches: only where a distance was measured, for elsewhere that may be no instruction.
void flush_from_caches(const void *data, size_t size);

// How far caches are apart, as far as is known. For any number of threads.
class CacheWatch {
  public:
    using Clock = std::chrono::steady_clock;
    using Measure = std::optional<CacheDistance> (*)();

    // It is measured where so much went between them, and not more often than that. Until it was for the first time, after less: all goes as if they were
    // near, and where they are apart the first 72 MiB that a program wrote by the ring, 1 MiB at a time, took 1.4 times as long.
    static constexpr size_t worth = size_t{64} << 20;
    static constexpr size_t first_worth = size_t{4} << 20;
    static constexpr Clock::duration period = std::chrono::milliseconds(500);

    explicit CacheWatch(Measure measure) : measure_(measure) {}
    // `bytes` more go between two processors.
    Caches caches(size_t bytes, Clock::time_point now);

  private:
    const Measure measure_;
    std::atomic<size_t> bytes_{0}; // since it was measured
    std::atomic<Clock::rep> due_{Clock::time_point::min().time_since_epoch().count()};
    std::atomic<bool> known_{false};
    std::atomic<Caches> caches_{Caches::near};
};

} // namespace apir::host
