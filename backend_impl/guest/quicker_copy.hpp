// A copy by the quicker one of two loops, which is found out on what is copied.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "two_ways.hpp"

namespace apir::guest {

// For any number of threads.
class QuickerCopy {
  public:
    using Copy = void (*)(uint8_t *to, const uint8_t *from, size_t size);

    // Copied with one of them and timed: large enough for the clock, small enough to be left alone most often.
    static constexpr size_t block = size_t{32} << 10;
    // Of each loop.
    static constexpr size_t trials = 48;

    // `first` is for what comes before it is known, when another thread is at finding out.
    QuickerCopy(Copy first, Copy second) : first_(first), second_(second) {}
    void copy(uint8_t *to, const uint8_t *from, size_t size);

  private:
    void try_next(uint8_t *to, const uint8_t *from);

    const Copy first_;
    const Copy second_;
    std::mutex mutex_;
    TwoWays<trials> ways_;
    std::atomic<Copy> known_{nullptr};
};

} // namespace apir::guest
