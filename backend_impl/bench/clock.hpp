// Time, and how samples are taken.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace apir::bench {

inline uint64_t now_ns() {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// Duration of each of `rounds` calls. One look at the clock ends a round and begins the next.
template <typename Call> std::vector<uint64_t> timed(size_t rounds, Call call) {
    std::vector<uint64_t> samples(rounds);
    uint64_t before = now_ns();
    for (uint64_t &sample : samples) {
        call();
        uint64_t after = now_ns();
        sample = after - before;
        before = after;
    }
    return samples;
}

} // namespace apir::bench
