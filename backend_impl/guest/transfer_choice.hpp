// Whether a large transfer goes by one thread, through a pipe where there are some, or in large pieces by two. Two threads get more out of memory
// than one, and more of them wait for a processor: which is more hangs on the machine. On two processors two threads were 15 to 40 % quicker with an
// AMD host (Zen 5), and slower with an Intel one (Sapphire Rapids or later). So both ways take turns, until it is known.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

#include "two_ways.hpp"

namespace apir::guest {

// Of no more than this one thread was at least as quick on both.
inline constexpr size_t surely_in_by_one = size_t{64} << 20;
inline constexpr size_t surely_out_by_one = size_t{48} << 20;

// For any number of threads.
class TransferChoice {
  public:
    // Of each way.
    static constexpr size_t trials = 8;

    // The process's own, of transfers in and of transfers out.
    static TransferChoice &of(bool in);

    bool by_two();
    void took(bool by_two, size_t size, std::chrono::steady_clock::duration time);

  private:
    std::mutex mutex_;
    TwoWays<trials> ways_; // the second one: by two threads
};

} // namespace apir::guest
