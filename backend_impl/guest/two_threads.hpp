// Work in pieces that two threads do together.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>

namespace apir::guest {

// Pieces 0 to `count` - 1, each of which is taken once: by one thread from the first one on, by the other from the last one back. However much slower one
// of them is, the other waits for no more than one piece of it.
class TwoEnds {
  public:
    explicit TwoEnds(size_t count) : count_(count) {}

    // `mine`: how many the thread has taken before. Whether there is one for it, and which.
    bool take(bool from_the_end, size_t mine, size_t &piece) {
        if (taken_.fetch_add(1, std::memory_order_relaxed) >= count_) return false;
        piece = from_the_end ? count_ - 1 - mine : mine;
        return true;
    }

  private:
    const size_t count_;
    std::atomic<size_t> taken_{0};
};

// A thread beside the calling one, for one piece of work, which must not throw: where it is wanted, the caller may use more than one processor, and a
// thread is to be had. When this ends, the work has been done, or is not begun any more.
//
// To begin a thread takes an emulated guest some tenths of a millisecond, in which it copies a mebibyte or two. So one of them stays for a while, asleep,
// for whoever wants one next; of several, one. For so long the program has a thread more than its own. It handles none of the program's signals but those
// of its own faults; its processors, its scheduling policy and its nice value are those of the caller, or the caller gets another one.
class SecondThread {
  public:
    // For how long; 0: not at all. Tests change it.
    static inline std::atomic<std::chrono::milliseconds> stays{std::chrono::milliseconds(1000)};

    SecondThread(bool wanted, std::function<void()> work);
    ~SecondThread();
    SecondThread(const SecondThread &) = delete;
    SecondThread &operator=(const SecondThread &) = delete;

    // Whether one was to be had. Where the caller was very quick, it was not even begun to work.
    bool is_there() const { return thread_ != nullptr; }

  private:
    friend class SecondThreads;
    struct Thread;

    const std::function<void()> work_;
    Thread *thread_ = nullptr; // there for as long as the work has not ended
    // Both with the mutex of all second threads held.
    bool begun_ = false;
    bool ended_ = false;
    std::condition_variable end_;
};

// Calls `work(false)` and, where there is a second thread, `work(true)` in it at the same time, unless the former has returned before that one comes to it.
// It returns, whether there was one, or throws what the former threw, when both have ended.
template <typename Work> bool by_two_threads(bool wanted, Work work) {
    if (!wanted) {
        work(false);
        return false;
    }
    const SecondThread second(true, [&work] { work(true); });
    work(false);
    return second.is_there();
}

} // namespace apir::guest
