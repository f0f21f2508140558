// How a thread waits for a word in shared memory: it spins while an answer may come at once, then yields, then sleeps for
// a fraction of what it has waited already. How long it does which follows from what such answers took before: a quick call
// is seen at once, a long graph costs no core.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace apir::guest {

using Clock = std::chrono::steady_clock;

// How long the last answers of one kind took, an average that forgets. Any number of threads at once.
class Pace {
  public:
    Clock::duration expected() const { return Clock::duration(expected_.load(std::memory_order_relaxed)); }
    void learn(Clock::duration took);

  private:
    std::atomic<Clock::rep> expected_{std::chrono::duration_cast<Clock::duration>(std::chrono::microseconds(100)).count()};
};

// One wait: begins when it is made, and tells the pace how long it took when it ends.
class ReplyWait {
  public:
    explicit ReplyWait(Pace &pace);
    ~ReplyWait();
    ReplyWait(const ReplyWait &) = delete;
    ReplyWait &operator=(const ReplyWait &) = delete;

    // One step of waiting; returns the time now.
    Clock::time_point pause();

  private:
    void stop_spinning();

    Pace &pace_;
    const Clock::time_point start_;
    Clock::time_point spin_until_;
    Clock::time_point yield_until_;
    Clock::time_point seen_; // by the last pause
    bool spinning_;
};

// The word once it is not 0, read with acquire order; 0 when `until` passed before, or when `hopeless()`, asked at each step of
// waiting, says that nothing will come.
template <typename Hopeless>
uint32_t await_word(const std::atomic<uint32_t> &word, Clock::time_point until, Pace &pace, Hopeless hopeless) {
    uint32_t value = word.load(std::memory_order_acquire);
    if (value != 0) return value;
    ReplyWait wait(pace);
    while ((value = word.load(std::memory_order_acquire)) == 0) {
        bool over = hopeless();
        // Once more after the last look at the time or the other side: the answer may have come before its end.
        if (wait.pause() >= until || over) return word.load(std::memory_order_acquire);
    }
    return value;
}

} // namespace apir::guest
