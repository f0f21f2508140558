// How long a worker that has nothing to do stays awake.
#pragma once

#include <algorithm>
#include <cstdint>

namespace apir::virgl {

// Follows the time between the end of one command and the arrival of the next. Where that is short, to sleep and be woken
// would cost more than it saves: some 100 us, for the doorbell is an exit of the virtual machine. Where it is long, a worker
// that stays awake only takes a processor from the guest. So: spin while the next command is due, then look between two
// yields, which leave the processor to whoever wants it, then sleep. Where it takes long to be woken, as on a host that is a virtual
// machine itself and whose idle processor has to be fetched back, the first command after a pause would cost the best part of a
// millisecond: there the worker takes naps for a while before it sleeps, and the guest, which thinks it awake, rings no bell.
class Wakefulness {
  public:
    enum class Step { spin, yield, short_nap, nap, long_nap, sleep };

    static constexpr uint64_t least_spin_ns = 20'000;
    static constexpr uint64_t longest_spin_ns = 50'000;
    static constexpr uint64_t least_awake_ns = 200'000;
    static constexpr uint64_t most_awake_ns = 5'000'000;
    // A nap costs such a host 23 to 30 us, so all of them a quarter of a core: for no longer than a pause in the same work, and together
    // less than half a percent of a minute, whatever a nap costs. Each command earns a part of the budget again: after some 60 of them a
    // pause is spent in naps once more, and a guest that sends one a second, for ever, costs half a percent, too.
    static constexpr uint64_t naps_until_ns = 1'100'000'000;
    static constexpr uint64_t naps_budget_ns = 280'000'000;
    static constexpr uint64_t naps_earned_ns = 5'000'000;
    static constexpr uint64_t nap_ns = 100'000;
    static constexpr uint64_t doze_ns = most_awake_ns;
    static constexpr uint64_t short_nap_ns = 50'000;
    // A large transfer's next piece comes within about a millisecond.
    static constexpr uint64_t long_nap_ns = 400'000;
    static constexpr uint64_t piece_due_ns = 2'500'000;
    // A host's own processor is woken in some 5 us, a virtual one, idle for long, in 15 to 50.
    static constexpr uint64_t dear_waking_ns = 10'000;

    // What to do when nothing has come for so long, of which naps have taken so much processor time since the last command.
    Step after(uint64_t idle_ns, uint64_t naps_cost_ns = 0) const {
        if (idle_ns < spin_ns()) return Step::spin;
        if (idle_ns < awake_ns()) return Step::yield;
        const bool may_nap = idle_ns < naps_until_ns && naps_cost_ns < naps_left_ns_;
        return may_nap && waking_ns_ >= dear_waking_ns ? Step::nap : Step::sleep;
    }

    // The same behind a piece of a large transfer where the guest's processors are all that there are, and copy. Whoever looks for the next
    // piece takes their time, and so does a doorbell for each one: the guest's call, QEMU's main thread and the waking are several naps' worth.
    Step between_pieces(uint64_t idle_ns) const { return idle_ns < piece_due_ns ? Step::long_nap : Step::sleep; }

    // The same in place of a yield where the guest's processors are all that there are and a yield was late: all of them work, between calls. Then
    // each look by a yield costs a turn of theirs, milliseconds, of which a guest that waits for the reply loses the most; who wakes up from a nap
    // is let in at once, if its turns are short. Not where commands come so soon that naps would delay them by as much as they take. And between
    // commands that take long themselves, such as a model's graphs, whoever wanted the processor: a nap delays them by little, and the guest has both
    // processors to prepare the next one, for itself and for QEMU's main thread, and where several threads computed the last one, those still look for
    // more for a while. Not at once: some small ones may follow.
    Step among_others(uint64_t now_ns, uint64_t idle_ns = 0) const {
        const bool crowded = now_ns < crowded_until_ns_ && gap_ns_ >= naps_worth_ns;
        const bool slow = work_ns_ >= long_work_ns && gap_ns_ >= unhurried_ns && idle_ns >= small_ones_due_ns;
        return crowded || slow ? Step::short_nap : Step::yield;
    }

    // A short nap is over; `waiting`: there is a command by now. On average it waited for half of the nap, and for all that the nap took longer.
    // To count some of that as the guest's pace would make naps seem worth while because of the naps.
    void napped(uint64_t took_ns, bool waiting) {
        if (waiting) missed_ns_ += took_ns - std::min(took_ns, short_nap_ns / 2);
    }

    // A command came, after naps that have taken so much processor time.
    void end_naps(uint64_t cost_ns) {
        naps_left_ns_ = std::min(naps_budget_ns, naps_left_ns_ - std::min(cost_ns, naps_left_ns_) + naps_earned_ns);
    }

    // It took so long from the bell to the worker's first look, after it had nothing to do for `idle_ns`. Only a processor that had the
    // time to fall asleep itself tells what that costs.
    void learn_waking(uint64_t idle_ns, uint64_t took_ns) {
        if (idle_ns >= long_idle_ns) waking_ns_ = (waking_ns_ * 3 + std::min(took_ns, most_counted_ns)) / 4;
    }

    // A command came `gap_ns` after the one before it had ended; `slept` in between, of which the doorbell's way is no part of what the
    // guest took: whoever counts it believes that commands are rare, sleeps at once, and finds it true. One exception is no rule: it
    // counts as a multiple of what was expected at most. Nor is the time part of it in which the command waited for a worker that had no
    // processor: else some of those would make it believe the same.
    void learn(uint64_t gap_ns, bool slept) {
        if (slept) gap_ns -= std::min(gap_ns, doorbell_ns);
        gap_ns -= std::min(gap_ns, missed_ns_);
        missed_ns_ = 0;
        gap_ns_ = (gap_ns_ * 7 + std::min({gap_ns, most_counted_ns, gap_ns_ * most_growth + 1'000})) / 8;
    }

    // A command took so long. One exception is no rule here either.
    void worked(uint64_t took_ns) { work_ns_ = (work_ns_ * 7 + std::min({took_ns, most_counted_ns, work_ns_ * most_growth + 1'000})) / 8; }

    // What to do about a yield that came back after so long. One that takes longer than nothing means that somebody else wants this
    // processor. Where no command is due at once, as between the pieces of a large transfer, it is left to them until the next doorbell,
    // which costs less than what they would lose by our looks; not for longer than such a pause. Where one is due, and the yield is really
    // late, that somebody most likely is the virtual processor which waits for us, with another one idle beside it, busy for a moment each
    // time the system looked: to step aside parts them, and no command costs a doorbell any more. `waiting`: there is one by now; then it
    // was not time that somebody made something of.
    enum class Yielded { in_time, step_aside, doze };
    Yielded yielded(uint64_t now_ns, uint64_t took_ns, bool waiting) {
        if (took_ns <= wanted_ns) return Yielded::in_time;
        if (took_ns > crowded_yield_ns) crowded_until_ns_ = now_ns + crowded_ns;
        if (waiting) missed_ns_ += took_ns;
        else if (gap_ns_ >= unhurried_ns) return Yielded::doze;
        if (took_ns <= late_yield_ns || now_ns < aside_from_ns_) return Yielded::in_time;
        aside_from_ns_ = now_ns + aside_pause_ns;
        return Yielded::step_aside;
    }

    uint64_t spin_ns() const { return gap_ns_ > longest_spin_ns ? 0 : std::clamp(gap_ns_ * 4, least_spin_ns, longest_spin_ns); }
    uint64_t awake_ns() const {
        // Commands that come later than anybody would wait for are not waited for.
        return gap_ns_ * 2 > most_awake_ns ? least_awake_ns : std::clamp(gap_ns_ * 4, least_awake_ns, most_awake_ns);
    }

  private:
    static constexpr uint64_t most_counted_ns = 20'000'000;
    static constexpr uint64_t most_growth = 8;
    static constexpr uint64_t long_idle_ns = 10'000'000;
    static constexpr uint64_t doorbell_ns = 200'000;
    static constexpr uint64_t wanted_ns = 50'000;
    static constexpr uint64_t late_yield_ns = 200'000;
    static constexpr uint64_t crowded_yield_ns = 500'000; // QEMU's main thread alone takes less
    static constexpr uint64_t crowded_ns = 50'000'000;
    static constexpr uint64_t naps_worth_ns = 40'000;
    static constexpr uint64_t unhurried_ns = 200'000;
    static constexpr uint64_t aside_pause_ns = 2'000'000;
    static constexpr uint64_t long_work_ns = 500'000;
    static constexpr uint64_t small_ones_due_ns = 100'000;
    uint64_t work_ns_ = 0;
    uint64_t gap_ns_ = 500'000;
    uint64_t waking_ns_ = 2 * dear_waking_ns; // until it is known; one quick waking is not yet knowledge
    uint64_t naps_left_ns_ = naps_budget_ns;
    uint64_t aside_from_ns_ = 0;
    uint64_t crowded_until_ns_ = 0;
    uint64_t missed_ns_ = 0; // since the last command
};

} // namespace apir::virgl
