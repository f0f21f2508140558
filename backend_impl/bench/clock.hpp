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

// What calls one after the other took, and when, by the clock of the call records.
struct Timed {
    std::vector<uint64_t> ns;
    uint64_t begin_ns = 0;
    uint64_t end_ns = 0;
    size_t calls = 0; // with those that were not timed
};

// Duration of each of `rounds` calls. One look at the clock ends a round and begins the next.
template <typename Call> Timed timed(size_t rounds, Call call) {
    Timed made;
    made.ns.resize(rounds);
    made.calls = rounds;
    uint64_t before = made.begin_ns = now_ns();
    for (uint64_t &sample : made.ns) {
        call();
        uint64_t after = now_ns();
        sample = after - before;
        before = after;
    }
    made.end_ns = before;
    return made;
}

// The same after `warm` calls that are not counted: what finds the host asleep has a measurement of its own.
template <typename Call> Timed timed_warm(size_t warm, size_t rounds, Call call) {
    for (size_t left = warm; left > 0; --left) call();
    Timed made = timed(rounds, call);
    made.calls += warm;
    return made;
}

// The same; `before_last` comes before the last round, which leaves other traces than those before it, and is not timed.
template <typename Call, typename Change> Timed timed_warm(size_t warm, size_t rounds, Call call, Change before_last) {
    Timed made = timed_warm(warm, rounds - 1, call);
    before_last();
    const Timed last = timed(1, call);
    made.ns.push_back(last.ns.front());
    made.end_ns = last.end_ns;
    ++made.calls;
    return made;
}

} // namespace apir::bench
