#include "reply_wait.hpp"

#include <algorithm>
#include <thread>

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

constexpr auto spin_time = 200us;
constexpr auto yield_time = 1ms;
constexpr auto shortest_sleep = 20us;
constexpr auto longest_sleep = 1ms;
constexpr int sleep_share = 16; // a sleep is this part of the time waited so far
constexpr int relax_rounds = 8;

// Threads that spin at this moment. More of them than cores but one would keep the host's worker from running where the
// guest's cores are the host's.
std::atomic<int> spinners{0};

int spinner_limit() {
    static const int limit = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);
    return limit;
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace

ReplyWait::ReplyWait() : start_(Clock::now()), spinning_(spinners.fetch_add(1) < spinner_limit()) {
    if (!spinning_) spinners.fetch_sub(1);
}

ReplyWait::~ReplyWait() { stop_spinning(); }

void ReplyWait::stop_spinning() {
    if (spinning_) spinners.fetch_sub(1);
    spinning_ = false;
}

Clock::time_point ReplyWait::pause() {
    Clock::time_point now = Clock::now();
    auto waited = now - start_;
    if (spinning_ && waited < spin_time) {
        for (int i = 0; i < relax_rounds; ++i) relax();
    } else if (waited < yield_time) {
        stop_spinning();
        std::this_thread::yield();
    } else {
        stop_spinning();
        std::this_thread::sleep_for(std::clamp<Clock::duration>(waited / sleep_share, shortest_sleep, longest_sleep));
    }
    return now;
}

uint32_t await_word(const std::atomic<uint32_t> &word, Clock::time_point until) {
    uint32_t value = word.load(std::memory_order_acquire);
    if (value != 0) return value;
    ReplyWait wait;
    while ((value = word.load(std::memory_order_acquire)) == 0) {
        if (wait.pause() >= until) return word.load(std::memory_order_acquire);
    }
    return value;
}

} // namespace apir::guest
