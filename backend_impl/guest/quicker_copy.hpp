// Which of two ways to do the same is the quicker one on this machine, by what both take for blocks of real work.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace apir::guest {

// The rule: both take turns, then the quicker one is known.
class TwoWays {
  public:
    using Duration = std::chrono::nanoseconds;

    // Blocks of each way. A single one tells little: the system may have taken the processor away in between.
    static constexpr size_t trials = 48;

    bool decided() const { return count_ == 2 * trials; }
    // The way of the next block.
    bool second() const { return decided() ? second_is_quicker_ : count_ % 2 != 0; }
    // A block by the way that second() told took so long. Not after it is decided.
    void took(Duration time);

  private:
    std::array<std::array<Duration, trials>, 2> times_{};
    size_t count_ = 0;
    bool second_is_quicker_ = false;
};

// Copies by the quicker one of two loops, for any number of threads.
class QuickerCopy {
  public:
    using Copy = void (*)(uint8_t *to, const uint8_t *from, size_t size);

    // Copied with one of them and timed: large enough for the clock, small enough to be left alone most often.
    static constexpr size_t block = size_t{32} << 10;

    // `first` is for what comes before it is known, when another thread is at finding out.
    QuickerCopy(Copy first, Copy second) : first_(first), second_(second) {}
    void copy(uint8_t *to, const uint8_t *from, size_t size);

  private:
    void try_next(uint8_t *to, const uint8_t *from);

    const Copy first_;
    const Copy second_;
    std::mutex mutex_;
    TwoWays ways_;
    std::atomic<Copy> known_{nullptr};
};

} // namespace apir::guest
