// How long a worker that has nothing to do stays awake.
#pragma once

#include <algorithm>
#include <cstdint>

namespace apir::virgl {

// Follows the time between the end of one command and the arrival of the next. Where that is short, to sleep and be woken
// would cost more than it saves: some 100 us, for the doorbell is an exit of the virtual machine. Where it is long, a worker
// that stays awake only takes a processor from the guest. So: spin while the next command is due, then look between two
// yields, which leave the processor to whoever wants it, then sleep.
class Wakefulness {
  public:
    enum class Step { spin, yield, sleep };

    static constexpr uint64_t longest_spin_ns = 50'000;
    static constexpr uint64_t least_awake_ns = 200'000;
    static constexpr uint64_t most_awake_ns = 5'000'000;

    // What to do when nothing has come for so long.
    Step after(uint64_t idle_ns) const {
        if (idle_ns < spin_ns()) return Step::spin;
        return idle_ns < awake_ns() ? Step::yield : Step::sleep;
    }

    // A command came `gap_ns` after the one before it had ended. One exception is no rule: it counts as a multiple of what was
    // expected at most.
    void learn(uint64_t gap_ns) { gap_ns_ = (gap_ns_ * 7 + std::min({gap_ns, most_counted_ns, gap_ns_ * most_growth + 1'000})) / 8; }

    // A yield came back so late. On a crowded host who yields is last in the row and who sleeps is first when it is woken: then
    // it is better to sleep, for a while.
    void yielded(uint64_t now_ns, uint64_t took_ns) {
        if (took_ns > late_yield_ns) crowded_until_ns_ = now_ns + crowded_for_ns;
    }
    bool crowded(uint64_t now_ns) const { return now_ns < crowded_until_ns_; }

    uint64_t spin_ns() const { return gap_ns_ > longest_spin_ns ? 0 : std::min(gap_ns_ * 4 + 2'000, longest_spin_ns); }
    uint64_t awake_ns() const {
        // Commands that come later than anybody would wait for are not waited for.
        return gap_ns_ * 2 > most_awake_ns ? least_awake_ns : std::clamp(gap_ns_ * 4, least_awake_ns, most_awake_ns);
    }

  private:
    static constexpr uint64_t most_counted_ns = 20'000'000;
    static constexpr uint64_t most_growth = 8;
    static constexpr uint64_t late_yield_ns = 200'000;
    static constexpr uint64_t crowded_for_ns = 50'000'000;
    uint64_t gap_ns_ = 500'000;
    uint64_t crowded_until_ns_ = 0;
};

} // namespace apir::virgl
