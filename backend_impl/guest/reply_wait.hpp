// How a thread waits for a word in shared memory: it spins while an answer may come at once, then yields, then sleeps for
// a fraction of what it has waited already. A quick call is seen at once, a long graph costs no core.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace apir::guest {

using Clock = std::chrono::steady_clock;

class ReplyWait {
  public:
    ReplyWait();
    ~ReplyWait();
    ReplyWait(const ReplyWait &) = delete;
    ReplyWait &operator=(const ReplyWait &) = delete;

    // One step of waiting; returns the time now.
    Clock::time_point pause();

  private:
    void stop_spinning();

    Clock::time_point start_;
    bool spinning_;
};

// The word once it is not 0, read with acquire order; 0 when `until` passed before.
uint32_t await_word(const std::atomic<uint32_t> &word, Clock::time_point until);

} // namespace apir::guest
