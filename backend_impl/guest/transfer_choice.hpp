// Whether a large transfer comes in by one thread, through a pipe where there are some, or in large pieces by two. Two threads get more out of memory
// than one, and more of them wait for a processor: which is more hangs on the machine. On two processors two threads were 20 % quicker with an AMD
// host (Zen 5), and slower with an Intel one (Sapphire Rapids or later). So both ways take turns, until it is known.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

#include "two_ways.hpp"

namespace apir::guest {

// Of no more than this one thread is at least as quick everywhere.
inline constexpr size_t surely_by_one = size_t{64} << 20;

// For any number of threads.
class TransferChoice {
  public:
    // Of each way.
    static constexpr size_t trials = 5;

    // The process's own.
    static TransferChoice &instance();

    bool by_two();
    void took(bool by_two, size_t size, std::chrono::steady_clock::duration time);

  private:
    std::mutex mutex_;
    TwoWays<trials> ways_; // the second one: by two threads
};

} // namespace apir::guest
