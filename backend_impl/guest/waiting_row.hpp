// Threads that wait asleep because others wait awake: where the guest's processors are the host's, somebody has to leave one to the
// worker. They stand in a row, first come, first called.
//
// Nobody in the row looks at its reply by itself while somebody in front does little but call: each look would be a timer, an interrupt and a
// processor that wakes up, and that is what the thread in front would lose. Who waits awake calls those whose reply is there, or, when its own
// turn is over, gives its place to the first one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <sched.h>
#include <sys/types.h>

namespace apir::guest {

class WaitingRow {
  public:
    using Clock = std::chrono::steady_clock;

    // The process's one and only. Never destroyed: threads may still wait when the process ends.
    static WaitingRow &instance() {
        static WaitingRow &row = *new WaitingRow;
        return row;
    }

    // A thread's place in the row, from when it is made, at the end of the row, until it is gone.
    class Place {
      public:
        // `word` is not 0 when this thread has its reply; it stays for as long as the place.
        Place(WaitingRow &row, const std::atomic<uint32_t> &word);
        ~Place();
        Place(const Place &) = delete;
        Place &operator=(const Place &) = delete;

        // Sleeps until the thread is called, for so long at most; the first time longer, where it cannot be its turn yet. Whether it was
        // called: then it is in the row no more.
        bool sleep(Clock::duration at_most);

      private:
        friend class WaitingRow;
        WaitingRow &row_;
        const std::atomic<uint32_t> &word_;
        const pid_t thread_;
        const std::shared_ptr<std::condition_variable> bell_; // the caller rings it when the place may be gone
        Place *next_ = nullptr;
        bool called_ = false;
        bool waited_for_turn_ = false;
        std::optional<cpu_set_t> processors_; // that the thread may use, while it may use its caller's only
    };

    bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }
    void call_first();
    // Calls the first one to the processor of the calling thread, which is about to stand in the row. By itself the system would wake it
    // on an idle one, and where two virtual processors share a real one each of them keeps the other from going on for milliseconds, at
    // each change. The thread may use all of its processors again as soon as it runs. Whether somebody was there.
    bool give_way();
    // All whose reply is there.
    void call_answered();

    // Somebody awake got so many replies while others stood here: how those know that there is somebody who will call them, and soon.
    void beat(int replies) { beats_.fetch_add(static_cast<uint32_t>(replies), std::memory_order_relaxed); }
    uint32_t beats() const { return beats_.load(std::memory_order_relaxed); }
    // Nobody seems to have a turn, or somebody who works in between: how long the last ones took says nothing of the next one.
    void forget_turn();

  private:
    using Bell = std::shared_ptr<std::condition_variable>;

    // With the mutex held. A bell is rung without it: who wakes up wants it.
    void remove(Place &place);
    [[nodiscard]] Bell call(Place &place);
    void count_turn();
    Clock::duration due(const Place &place) const;

    std::mutex mutex_;
    Place *first_ = nullptr;
    Clock::time_point gave_way_{};
    Clock::duration turn_{0}; // the last one's length; 0 when they do not follow each other
    std::atomic<uint32_t> size_{0};
    std::atomic<uint32_t> beats_{0};
};

} // namespace apir::guest
