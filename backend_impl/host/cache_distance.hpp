// How far the caches of two processors are from each other. No processor tells: virtual machines have what their hypervisor says, and that is
// not where they run. So it is measured.
#pragma once

#include <chrono>
#include <optional>

namespace apir::host {

// What it takes this processor to write a block of memory, at its quickest of several times.
struct CacheDistance {
    std::chrono::nanoseconds read_by_other; // another processor has just read what this one wrote there before
    std::chrono::nanoseconds flushed; // and taken it out of all caches

    // Whether the way through memory is clearly the shorter one.
    bool apart() const { return read_by_other > flushed * 3 / 2; }
};

// Between this processor and the next one that this thread may use. It takes less than a millisecond, or as long as the other processor is
// busy. Nothing where there is no other one, it cannot be had within 20 ms, or lines cannot be flushed (other than x86 with CLFLUSHOPT).
std::optional<CacheDistance> measure_cache_distance();

} // namespace apir::host
