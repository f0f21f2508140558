// Which of two ways to do the same is the quicker one on this machine, by what both take for real work.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace apir::guest {

// Both take turns, `trials` times each, then the quicker one is known. Not for several threads at once.
template <size_t trials> class TwoWays {
  public:
    using Duration = std::chrono::nanoseconds;

    bool decided() const { return count_[0] + count_[1] == 2 * trials; }
    // Whether it is the second way's turn; in the end, whether that is the quicker one.
    bool second() const { return decided() ? second_is_quicker_ : count_[1] < count_[0]; }
    // A way took so long, for as much work as all the others. More than enough of one way tells nothing.
    void took(bool second, Duration time) {
        const size_t way = second ? 1 : 0;
        if (count_[way] == trials) return;
        times_[way][count_[way]++] = time;
        if (decided()) second_is_quicker_ = lower_quartile(times_[1]) < lower_quartile(times_[0]);
    }

  private:
    using Times = std::array<Duration, trials>;

    // So long the quickest quarter of them took, or less: what else goes on in the machine makes work slower, never quicker.
    static Duration lower_quartile(Times &times) {
        const auto quartile = times.begin() + trials / 4;
        std::nth_element(times.begin(), quartile, times.end());
        return *quartile;
    }

    std::array<Times, 2> times_{};
    std::array<size_t, 2> count_{};
    bool second_is_quicker_ = false;
};

} // namespace apir::guest
