// Work in pieces that two threads do together.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>

namespace apir::guest {

// Pieces 0 to `count` - 1, each of which is taken once: by one thread from the first one on, by the other from the last one back. Neither waits for the
// other, however much slower it is, and mostly each has the same ones every time: their pages are in its processor's tables.
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

// Calls `work(false)` and, where two are wanted, there is a processor for each, and a thread to be had, `work(true)` in another thread at the same
// time. It returns, or throws what the former threw, when both have ended; the latter must not throw.
template <typename Work> void by_two_threads(bool wanted, Work work) {
    struct Joined {
        ~Joined() {
            if (thread.joinable()) thread.join();
        }
        std::thread thread;
    } second;
    if (wanted && std::thread::hardware_concurrency() > 1) {
        try {
            second.thread = std::thread([&work] { work(true); });
        } catch (const std::exception &) { // the program may have no more threads, or no memory: one does, too
        }
    }
    work(false);
}

} // namespace apir::guest
