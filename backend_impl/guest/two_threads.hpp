// Work in pieces that two threads do together.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>

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

// A thread beside the calling one, awaited when this ends: where it is wanted, the caller may use more than one processor, and a thread is to be had.
// No signals of the program's are handled in it, but for those of its own faults. The work must not throw.
class SecondThread {
  public:
    SecondThread(bool wanted, const std::function<void()> &work);
    ~SecondThread() {
        if (thread_.joinable()) thread_.join();
    }
    SecondThread(const SecondThread &) = delete;
    SecondThread &operator=(const SecondThread &) = delete;

    bool is_there() const { return thread_.joinable(); }

  private:
    std::thread thread_;
};

// Calls `work(false)` and, where there is a second thread, `work(true)` in it at the same time. It returns, whether there was one, or throws what the
// former threw, when both have ended.
template <typename Work> bool by_two_threads(bool wanted, Work work) {
    const SecondThread second(wanted, [&work] { work(true); });
    work(false);
    return second.is_there();
}

} // namespace apir::guest
