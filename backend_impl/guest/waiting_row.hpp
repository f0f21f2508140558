// Threads that wait asleep because others wait awake: where the guest's processors are the host's, somebody has to leave one to the
// worker. They stand in a row, first come, first called.
//
// Nobody in the row looks at its reply by itself: each look would be a timer, an interrupt and a processor that wakes up, and that is
// what the thread in front would lose. Who waits awake calls those whose reply is there, or, when its own turn is over, the first one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace apir::guest {

class WaitingRow {
  public:
    // The process's one and only.
    static WaitingRow &instance();

    // A thread's place in the row, from when it is made, at the end of the row, until it is gone.
    class Place {
      public:
        // `word` is not 0 when this thread has its reply; it stays for as long as the place.
        Place(WaitingRow &row, const std::atomic<uint32_t> &word);
        ~Place();
        Place(const Place &) = delete;
        Place &operator=(const Place &) = delete;

        // Sleeps until the thread is called, for so long at most. Whether it was called: then it is in the row no more.
        bool sleep(std::chrono::steady_clock::duration at_most);

      private:
        friend class WaitingRow;
        WaitingRow &row_;
        const std::atomic<uint32_t> &word_;
        std::condition_variable call_;
        Place *next_ = nullptr;
        bool called_ = false;
    };

    bool empty() const { return size_.load(std::memory_order_relaxed) == 0; }
    void call_first();
    // All whose reply is there.
    void call_answered();

    // Somebody awake got a reply while others stood here: how those know that there is somebody who will call them.
    void beat() { beats_.fetch_add(1, std::memory_order_relaxed); }
    uint32_t beats() const { return beats_.load(std::memory_order_relaxed); }

  private:
    // With the mutex held.
    void remove(Place &place);
    void call(Place &place);

    std::mutex mutex_;
    Place *first_ = nullptr;
    std::atomic<uint32_t> size_{0};
    std::atomic<uint32_t> beats_{0};
};

} // namespace apir::guest
