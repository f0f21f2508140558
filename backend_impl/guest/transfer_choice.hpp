// Whether a large transfer goes by one thread, through a pipe where there are some, or in large pieces by two. Two threads get more out of memory
// than one, and more of them wait for a processor: which is more hangs on the machine. On two processors two threads were 15 to 40 % quicker with an
// AMD host (Zen 5), and slower with an Intel one (Sapphire Rapids or later). So both ways take turns, until it is known, and again later: what holds
// at one time (the host's scheduler, the distance of its caches) need not at another.
//
// The same is found out of what is copied to and from blobs that the host computes in. It has nothing to do meanwhile, and where nobody else has either,
// two threads were 1.25 to 1.7 times as quick (8 to 64 MiB; an Intel host, Granite Rapids). But with another program on one of a guest's two processors,
// and a thread that had to be begun each time, they took 1.1 to 1.2 times as long (AMD). Of each size by itself: what caches hold goes otherwise than what
// they do not. While they copy, nobody notices that QEMU's table of pages has become small (emulated_pages.hpp): one thread's turns do.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>

#include "two_ways.hpp"

namespace apir::guest {

// Of no more than this one thread was at least as quick on both; in without a pipe, where both go by the same commands.
inline constexpr size_t surely_in_by_one = size_t{64} << 20;
inline constexpr size_t surely_in_by_one_without_pipe = (size_t{32} << 20) - 1;
inline constexpr size_t surely_out_by_one = size_t{48} << 20;
// Of less than this, to or from such a blob, it takes a second thread as long to wake up as it saves (4 MiB), or longer (2 MiB: 1.6 times in all).
inline constexpr size_t least_by_two_in_blobs = size_t{8} << 20;

// Whether which of them carries so much is found out, where it may go either way (transfer_cut.hpp). `most_piped_out`: what goes out through a pipe
// at the most; of what is large, two threads carry more than that anyhow.
bool is_found_out(bool in, size_t size, bool pipes, size_t most_piped_out);

// For any number of threads.
class TransferChoice {
  public:
    // Turns in a row, of which the first do not count: two threads are a fifth quicker after two or three transfers, when they have their processors, and
    // half as quick again after three or four, when an emulator's table of pages of the second one's processor has become as large as the first one's.
    using Ways = TwoWays<4, 6, 4>; // the second way: by two threads
    // Transfers by the quicker way before both take turns again: twice as many each time, up to the most.
    static constexpr size_t first_pause = 2 * Ways::uses;
    static constexpr size_t longest_pause = 16 * Ways::uses;

    // The process's own, of transfers in and of transfers out, and of copies from and to blobs that the host computes in: one of each for what is as large
    // as two threads copy there at the least, or less than twice that, one each for twice and four times as much, and one for all that is larger.
    static TransferChoice &of(bool in);
    static TransferChoice &in_blobs(bool in, size_t size);

    // Has `move(by_two)` carry so many bytes, and notes how long that took: of the way that they went in the end, which `move` writes to `by_two`. Or that
    // there was no second thread: where there never is (the program may use one processor only), the choice is one thread in the end, too. Nothing where
    // it returns false, for they did not get there. What it returned.
    template <typename Move> bool carry(size_t size, Move move) {
        const bool wanted = this->by_two();
        bool by_two = wanted;
        const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
        const bool well = move(by_two);
        if (well && wanted && !by_two) got_no_second();
        else if (well) took(by_two, size, std::chrono::steady_clock::now() - start);
        return well;
    }

    bool by_two();
    void took(bool by_two, size_t size, std::chrono::steady_clock::duration time);
    // Two threads were to carry a transfer, and one did.
    void got_no_second();

  private:
    // Whether both are to take turns again, from now on. With the mutex held.
    bool begins_anew();

    std::mutex mutex_;
    Ways ways_;
    size_t since_known_ = 0;
    size_t pause_ = first_pause;
};

} // namespace apir::guest
