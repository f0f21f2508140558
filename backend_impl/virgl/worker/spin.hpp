// How long a worker that has nothing to do looks at its queue before it sleeps.
#pragma once

#include <cstdint>

namespace apir::virgl {

// Follows the time between the end of one command and the arrival of the next: where that is short, waking up would cost
// more than waiting, where it is long, spinning would only take a processor from the guest.
class SpinTime {
  public:
    static constexpr uint64_t longest_ns = 60'000;

    uint64_t now_ns() const { return gap_ns_ * 2 > longest_ns ? 0 : gap_ns_ * 2; }

    // A command came `gap_ns` after the one before it had ended.
    void learn(uint64_t gap_ns) {
        if (gap_ns > most_counted_ns) gap_ns = most_counted_ns;
        gap_ns_ = (gap_ns_ * 7 + gap_ns) / 8;
    }

  private:
    static constexpr uint64_t most_counted_ns = 1'000'000;
    uint64_t gap_ns_ = longest_ns; // at first: sleep
};

} // namespace apir::virgl
