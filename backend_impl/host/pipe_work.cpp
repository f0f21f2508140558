#include "pipe_work.hpp"

#include <algorithm>
#include <sched.h>
#include <thread>
#include <utility>

#include "processors.hpp"
#include "refusal.hpp"

namespace apir::host {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// The other side copies a piece in some tens of microseconds: what is later than that waits for a processor, or for something else.
constexpr auto spin_for = 50us;
constexpr auto yield_until = 300us;
constexpr int looks_at_once = 32;
// Who does not get on for so long, and does not sleep, has no processor: mostly it is on the guest's, which waits for it.
constexpr auto late = 200us;
// Of a piece in the host's memory, which takes some tens of microseconds.
constexpr size_t quick_piece = size_t{256} << 10;
constexpr std::chrono::nanoseconds shortest_nap = 50us;
constexpr std::chrono::nanoseconds longest_nap = 5ms;
constexpr int nap_share = 16; // a nap is this part of the time waited so far

} // namespace

void PipeWork::rest(std::chrono::nanoseconds idle) {
    if (idle >= yield_until) {
        watch_.beats.fetch_add(1, std::memory_order_relaxed);
        std::this_thread::sleep_for(std::clamp(idle / nap_share, shortest_nap, longest_nap));
        return;
    }
    const Clock::time_point start = Clock::now();
    if (idle >= spin_for) sched_yield();
    else for (int i = 0; i < looks_at_once && !pipe_.has_news(); ++i) relax();
    if (Clock::now() - start > late) step_aside();
}

size_t PipeWork::await(size_t least) {
    const size_t wanted = std::min(least, pipe_.most());
    size_t bytes = pipe_.available();
    if (bytes >= wanted) return bytes;
    const Clock::time_point start = Clock::now();
    Clock::time_point now = start;
    Clock::time_point changed = start;
    while (bytes < wanted && !pipe_.broken()) {
        if (waited_ + (now - start) > watch_.patience) refuse("the guest leaves a pipe as it is at byte %zu", pipe_.moved());
        if (watch_.ending.load(std::memory_order_relaxed) != 0) refuse("the guest has ended, with a pipe at byte %zu", pipe_.moved());
        rest(now - changed);
        const size_t before = std::exchange(bytes, pipe_.available());
        now = Clock::now();
        if (bytes != before) changed = now;
    }
    waited_ += now - start;
    if (pipe_.broken()) refuse("a pipe that the guest gives up, or breaks, at byte %zu", pipe_.moved());
    return bytes;
}

void PipeWork::run(const PipePieces &pieces, const Carry &carry, const Told &told) {
    while (!pipe_.done()) {
        const size_t bytes = std::min(await(pieces.least), pieces.most);
        const Clock::time_point start = Clock::now();
        uint8_t *const place = pipe_.place();
        carry(place, pipe_.moved(), bytes);
        pipe_.move(bytes);
        if (told) told(place, bytes);
        watch_.beats.fetch_add(1, std::memory_order_relaxed);
        if (pieces.most <= quick_piece && Clock::now() - start > late) step_aside();
    }
}

} // namespace apir::host
