// Which of two ways to do the same is the quicker one on this machine, by what both take for real work.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace apir::guest {

// Both take turns of `turn` times in a row, of which the first `unsettled` do not count: what a way brings with it, such as a thread that has to find
// a processor, or tables that grow, is there afterwards. When `trials` times of each count, the quicker one is known. Not for several threads at
// once.
template <size_t trials, size_t turn = 1, size_t unsettled = 0> class TwoWays {
    static_assert(unsettled < turn && trials % (turn - unsettled) == 0);

  public:
    using Duration = std::chrono::nanoseconds;

    static constexpr size_t in_a_row = turn;
    // How often both are used until it is known.
    static constexpr size_t uses = 2 * trials / (turn - unsettled) * turn;

    bool decided() const { return used_ == uses; }
    // Whether it is the second way's turn; in the end, whether that is the quicker one.
    bool second() const { return decided() ? second_is_quicker_ : used_ / turn % 2 != 0; }
    // A way took so long, for as much work as all the others. One that was begun in the other's turn tells nothing.
    void took(bool second, Duration time) {
        if (second) missed_ = 0;
        if (decided() || second != this->second()) return;
        const size_t way = second ? 1 : 0;
        if (used_ % turn >= unsettled) times_[way][count_[way]++] = time;
        if (++used_ == uses) second_is_quicker_ = lower_quartile(times_[1]) < lower_quartile(times_[0]);
    }
    // It was the second way's turn, and that way was not to be had. So many times in a row, as many as all other turns have, and it is not the quicker one.
    void missed_second() {
        if (!second() || ++missed_ < most_missed) return;
        used_ = uses;
        second_is_quicker_ = false;
    }

  private:
    static constexpr size_t most_missed = uses - turn;

    using Times = std::array<Duration, trials>;

    // So long the quickest quarter of them took, or less: what else goes on in the machine makes work slower, never quicker.
    static Duration lower_quartile(Times &times) {
        const auto quartile = times.begin() + trials / 4;
        std::nth_element(times.begin(), quartile, times.end());
        return *quartile;
    }

    std::array<Times, 2> times_{};
    std::array<size_t, 2> count_{};
    size_t used_ = 0;
    size_t missed_ = 0;
    bool second_is_quicker_ = false;
};

} // namespace apir::guest
