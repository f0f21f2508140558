// How long a worker stays awake, when it steps aside, and that it takes short turns where the system grants them.
#include <string>
#include <thread>

#include "granted_turns.hpp"
#include "host_expect.hpp"
#include "virgl/short_turns.hpp"
#include "virgl/worker/wakefulness.hpp"

using apir::test::expect;
using apir::test::expect_equal;
using apir::virgl::Wakefulness;
using Step = Wakefulness::Step;
using Yielded = Wakefulness::Yielded;

namespace {

constexpr uint64_t us = 1'000;
constexpr uint64_t ms = 1'000'000;
constexpr uint64_t late = 1 * ms;
constexpr int enough_to_learn = 100;

void learn(Wakefulness &wakefulness, uint64_t gap_ns, bool slept) {
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.learn(gap_ns, slept);
}

void quick_commands_are_spun_for() {
    Wakefulness wakefulness;
    learn(wakefulness, 1 * us, false);
    expect(wakefulness.after(10 * us) == Step::spin, "a command that is due at once is spun for");
    expect(wakefulness.after(100 * us) == Step::yield, "later the processor is left to others");
    expect(wakefulness.after(300 * us) == Step::nap, "then it takes naps");
    expect(wakefulness.after(1'200 * ms) == Step::sleep, "and then it sleeps");
}

// The naps are for hosts on which it takes long to be woken: who does not know that yet, or no more, takes them.
void naps_are_for_dear_waking() {
    Wakefulness wakefulness;
    wakefulness.learn_waking(1'000 * ms, 1 * us);
    expect(wakefulness.after(6 * ms) == Step::nap, "one quick waking is no knowledge");
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.learn_waking(1'000 * ms, 5 * us);
    expect(wakefulness.after(6 * ms) == Step::sleep, "who is woken quickly sleeps at once");
    wakefulness.learn_waking(1'000 * ms, 10'000 * ms);
    expect(wakefulness.after(6 * ms) == Step::nap, "a waking that took long is noticed");
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.learn_waking(1'000 * ms, 5 * us);
    expect(wakefulness.after(6 * ms) == Step::sleep, "and forgotten when the next ones are quick");
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.learn_waking(1'000 * ms, 40 * us);
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.learn_waking(100 * us, 1 * us);
    expect(wakefulness.after(6 * ms) == Step::nap, "a processor that had not fallen asleep says nothing");
    expect(wakefulness.after(1'000 * ms) == Step::nap, "a second's pause is spent in naps");
    expect(wakefulness.after(60'000 * ms) == Step::sleep, "a long one is not");
    expect(wakefulness.after(500 * ms, 250 * ms) == Step::nap, "naps that cost what they may go on");
    expect(wakefulness.after(500 * ms, 300 * ms) == Step::sleep, "dearer ones end, so that a minute holds less than 0.3 s of them");
}

// Processor time of the naps in a pause after a command: they cost 25 us of each 130.
uint64_t naps_in_pause(Wakefulness &wakefulness, uint64_t pause_ns) {
    uint64_t cost_ns = 0;
    for (uint64_t idle_ns = 6 * ms; idle_ns < pause_ns && wakefulness.after(idle_ns, cost_ns) == Step::nap; idle_ns += 130 * us)
        cost_ns += 25 * us;
    wakefulness.end_naps(cost_ns);
    return cost_ns;
}

void naps_are_earned_by_work() {
    Wakefulness wakefulness;
    const uint64_t whole_pause = naps_in_pause(wakefulness, 1'000 * ms);
    expect(whole_pause > 150 * ms, "a lone pause is spent in naps");
    uint64_t minute = 0;
    for (int i = 0; i < 60; ++i) minute += naps_in_pause(wakefulness, 1'000 * ms);
    expect(minute < 600 * ms, "naps of a minute with a command a second: " + std::to_string(minute / ms) + " ms");
    minute = 0;
    for (int i = 0; i < 60; ++i) minute += naps_in_pause(wakefulness, 1'000 * ms);
    expect(minute <= 300 * ms, "naps of the next one: " + std::to_string(minute / ms) + " ms");
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.end_naps(0);
    expect_equal(naps_in_pause(wakefulness, 1'000 * ms), whole_pause, "a pause after steady work");
}

void rare_commands_are_slept_for() {
    Wakefulness wakefulness;
    learn(wakefulness, 20 * ms, true);
    expect(wakefulness.after(1 * us) == Step::yield, "nothing is due at once");
    expect(wakefulness.after(300 * us) == Step::nap, "nor soon enough to stay awake for");
}

// A guest that calls without a pause, each time by a doorbell, must not look like one that calls rarely.
void doorbell_is_no_gap() {
    Wakefulness by_doorbell;
    learn(by_doorbell, 150 * us, true);
    expect(by_doorbell.after(10 * us) == Step::spin, "the doorbell's way is not counted");
    Wakefulness awake;
    learn(awake, 150 * us, false);
    expect(awake.after(10 * us) == Step::yield, "the same time without a doorbell is the guest's own");
}

void one_exception_is_no_rule() {
    Wakefulness wakefulness;
    learn(wakefulness, 1 * us, false);
    wakefulness.learn(1'000 * ms, true);
    expect(wakefulness.after(5 * us) == Step::spin, "a pause does not undo what was learned");
}

// Where commands follow each other without a pause.
void late_yields() {
    Wakefulness wakefulness;
    learn(wakefulness, 1 * us, false);
    expect(wakefulness.yielded(1 * ms, 10 * us, false) == Yielded::in_time, "a quick yield says nothing");
    expect(wakefulness.yielded(2 * ms, 100 * us, false) == Yielded::in_time, "somebody may have the processor for a moment");
    expect(wakefulness.yielded(3 * ms, late, false) == Yielded::step_aside, "for longer: it looks for another one");
    expect(wakefulness.yielded(4 * ms, late, false) == Yielded::in_time, "and does so now and then, not each time");
    expect(wakefulness.yielded(20 * ms, late, false) == Yielded::step_aside, "later it does again");
}

void pieces_are_awaited_in_long_naps() {
    const Wakefulness wakefulness;
    expect(wakefulness.between_pieces(0) == Step::long_nap, "behind a piece nobody looks for the next one");
    expect(wakefulness.between_pieces(2 * Wakefulness::long_nap_ns) == Step::long_nap, "one that is late needs no doorbell");
    expect(wakefulness.between_pieces(5 * ms) == Step::sleep, "behind the last one the worker sleeps");
}

// Where they do not, as between the pieces of a large transfer, those who make the next one have the processor.
void wanted_processor() {
    Wakefulness wakefulness;
    learn(wakefulness, 400 * us, false);
    expect(wakefulness.after(300 * us) == Step::yield, "the worker stays awake for the next one");
    expect(wakefulness.yielded(1 * ms, 2 * us, false) == Yielded::in_time, "while nobody wants its processor");
    expect(wakefulness.yielded(2 * ms, 100 * us, false) == Yielded::doze, "and leaves it to who does");
    expect(wakefulness.yielded(3 * ms, late, false) == Yielded::doze, "each time");
}

// Where all processors have work, a look by a yield costs a turn of somebody's.
void crowded_processors() {
    Wakefulness wakefulness;
    learn(wakefulness, 100 * us, false);
    expect(wakefulness.among_others(1 * ms) == Step::yield, "nobody is known to want the processor");
    wakefulness.yielded(2 * ms, 100 * us, true);
    expect(wakefulness.among_others(2 * ms) == Step::yield, "somebody had it for a moment");
    wakefulness.yielded(3 * ms, late, true);
    expect(wakefulness.among_others(4 * ms) == Step::short_nap, "somebody had it for long: naps");
    expect(wakefulness.among_others(40 * ms) == Step::short_nap, "for a while");
    expect(wakefulness.among_others(60 * ms) == Step::yield, "then it is tried again");
    wakefulness.yielded(61 * ms, late, true);
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.learn(20 * us, false);
    expect(wakefulness.among_others(62 * ms) == Step::yield, "commands that come sooner than a nap ends are no reason to take one");
}

// Between commands that take long themselves nobody has to have asked for the processor.
void naps_between_long_commands() {
    Wakefulness wakefulness;
    constexpr uint64_t idle = 200 * us;
    learn(wakefulness, 300 * us, false);
    expect(wakefulness.among_others(1 * ms, idle) == Step::yield, "nothing is known of what they take");
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.worked(300 * us);
    expect(wakefulness.among_others(1 * ms, idle) == Step::yield, "a nap would be much of what they take");
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.worked(1 * ms);
    expect(wakefulness.among_others(1 * ms, idle) == Step::short_nap, "little of what they take");
    expect(wakefulness.among_others(1 * ms, 50 * us) == Step::yield, "small ones may follow at once");
    learn(wakefulness, 100 * us, false);
    expect(wakefulness.among_others(1 * ms, idle) == Step::yield, "the next one is due at once");
    learn(wakefulness, 300 * us, false);
    for (int i = 0; i < enough_to_learn; ++i) wakefulness.worked(10 * us);
    expect(wakefulness.among_others(1 * ms, idle) == Step::yield, "they no longer take long");
    wakefulness.worked(20 * ms);
    expect(wakefulness.among_others(1 * ms, idle) == Step::yield, "one that did is no rule");
}

// What a command waited for the end of a nap is no pace of the guest's.
void naps_are_no_gap() {
    Wakefulness wakefulness;
    wakefulness.yielded(1 * ms, late, false);
    for (int i = 0; i < enough_to_learn; ++i) {
        wakefulness.napped(50 * us, true);
        wakefulness.learn(55 * us, false);
    }
    expect(wakefulness.among_others(2 * ms) == Step::yield, "the guest takes 30 us from one to the next");
    for (int i = 0; i < enough_to_learn; ++i) {
        wakefulness.napped(200 * us, true);
        wakefulness.learn(205 * us, false);
    }
    expect(wakefulness.among_others(2 * ms) == Step::yield, "a nap that took too long says nothing of it");
    for (int i = 0; i < enough_to_learn; ++i) {
        wakefulness.napped(50 * us, false);
        wakefulness.learn(55 * us, false);
    }
    expect(wakefulness.among_others(2 * ms) == Step::short_nap, "a nap in which nothing came says nothing");
}

// A command that came meanwhile waited for the worker: that is no pace of the guest's, and nobody made the next one with that processor.
void missed_commands() {
    Wakefulness wakefulness;
    learn(wakefulness, 1 * us, false);
    uint64_t now = 1 * ms;
    for (int i = 0; i < 20; ++i) {
        now += 3 * ms;
        expect(wakefulness.yielded(now, 2 * ms, true) == Yielded::step_aside, "a command waited: to another processor");
        wakefulness.learn(2 * ms + 1 * us, false);
    }
    expect(wakefulness.after(10 * us) == Step::spin, "the next command is due as before");
    expect(wakefulness.yielded(now + 100 * us, 100 * us, true) == Yielded::in_time, "for a moment: it stays");
    expect(wakefulness.yielded(now + 3 * ms, 100 * us, false) == Yielded::in_time, "and leaves nobody its processor until a doorbell");
    for (int i = 0; i < 100; ++i) wakefulness.learn(2 * ms, false);
    expect(wakefulness.after(10 * us) == Step::yield, "one that had not to wait is late by itself");
    expect(wakefulness.yielded(now + 6 * ms, 2 * ms, true) == Yielded::step_aside, "where commands are rare, too, it does not doze over one");
}

void short_turns() {
    using apir::virgl::Heirs;
    const bool granted = apir::test::grants_turns();
    auto inherited = [] {
        bool has = false;
        std::thread([&] { has = apir::virgl::has_short_turns(); }).join();
        return has;
    };
    const bool taken = apir::virgl::take_short_turns(Heirs::alike);
    expect(taken || !granted, "short turns");
    expect_equal(apir::virgl::take_short_turns(Heirs::alike), taken, "asking twice gives the same");
    if (!granted) return;
    expect(apir::virgl::has_short_turns(), "the thread that asked has them");
    expect(inherited(), "and those that it starts");
    expect(apir::virgl::take_short_turns(Heirs::ordinary), "for this thread only");
    expect(apir::virgl::has_short_turns(), "the thread that asked has them");
    expect(!inherited(), "threads that it starts have ordinary ones");
    expect(apir::virgl::take_short_turns(Heirs::alike) && !inherited(), "what was said of them stays");
}

} // namespace

int main() {
    quick_commands_are_spun_for();
    rare_commands_are_slept_for();
    doorbell_is_no_gap();
    one_exception_is_no_rule();
    naps_are_for_dear_waking();
    naps_are_earned_by_work();
    late_yields();
    pieces_are_awaited_in_long_naps();
    wanted_processor();
    crowded_processors();
    naps_between_long_commands();
    naps_are_no_gap();
    missed_commands();
    short_turns();
    return apir::test::failures == 0 ? 0 : 1;
}
