// How a thread waits for a word in shared memory: it spins while an answer may come at once, then yields, then sleeps until shortly before such
// an answer came at the earliest lately, yields again when it is due (of answers up to some 4 ms), and then sleeps for a fraction of what it has
// waited already (of several that wait for commands which QEMU carries, each yields from the beginning). How long it does which follows from what
// such answers took before: a quick call is seen at once, a long graph costs no core.
//
// Few sleeps, because in an emulated guest each is a timer that QEMU's main thread has to be woken for, twice, and it may well take the processor
// of the very worker that is waited for: with a sleep for every sixteenth of the time waited, a graph of 1.2 ms took 2.1 on a host of two processors
// whenever the scheduler had put those two on one.
//
// A look at the clock can be dearer than a whole call: in an emulated guest it often is an exit of the virtual machine of more
// than a microsecond, and takes the lock that QEMU needs to carry our submission. So nothing here looks at it before it has to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "waiting_row.hpp"

namespace apir::guest {

using Clock = std::chrono::steady_clock;

// A moment by which something has to have happened: so long after it is first asked for, which is when there is something to
// wait for.
class Deadline {
  public:
    Deadline(Clock::time_point moment) : moment_(moment), known_(true) {}
    explicit Deadline(Clock::duration patience) : patience_(patience) {}

    Clock::time_point moment() const {
        if (!known_) moment_ = Clock::now() + patience_;
        known_ = true;
        return moment_;
    }

  private:
    Clock::duration patience_{};
    mutable Clock::time_point moment_{};
    mutable bool known_ = false;
};

// How long the last answers of one kind took. Any number of threads at once.
class Pace {
  public:
    // An average that forgets.
    Clock::duration expected() const { return Clock::duration(expected_.load(std::memory_order_relaxed)); }
    void learn(Clock::duration took);

    // Of those that somebody slept for: the least that one took lately, or less.
    Clock::duration soonest() const { return Clock::duration(soonest_.load(std::memory_order_relaxed)); }
    void learn_slow(Clock::duration took);

  private:
    std::atomic<Clock::rep> soonest_{0};
    std::atomic<Clock::rep> expected_{std::chrono::duration_cast<Clock::duration>(std::chrono::microseconds(100)).count()};
};

// What has to happen before a reply can come. Nothing, where the worker looks into the ring; or it has to be woken to do so, of which the time
// says nothing about its replies. Or QEMU's main thread has to carry the command to it, and perhaps to wake it.
enum class OtherSide { awake, asleep, carried, carried_asleep };

// One wait for a word: begins when it is made, and tells the pace how long it took when it ends, unless it was in vain.
class ReplyWait {
  public:
    ReplyWait(const std::atomic<uint32_t> &word, Pace &pace, OtherSide other = OtherSide::awake);
    ~ReplyWait();
    ReplyWait(const ReplyWait &) = delete;
    ReplyWait &operator=(const ReplyWait &) = delete;

    // One step of waiting: until the word is not 0, or for a while. Returns the time now.
    Clock::time_point pause();
    // Nothing came: that is no answer.
    void give_up() { in_vain_ = true; }

  private:
    bool is_quick() const;
    bool begin_spinning();
    bool has_company() const;
    bool stay_awake_until(Clock::time_point moment);
    void stop_spinning();
    void sleep();
    void stand_in_row();

    const std::atomic<uint32_t> &word_;
    Pace &pace_;
    const OtherSide other_;
    const Clock::time_point start_;
    Clock::time_point spin_until_;
    Clock::time_point yield_until_;
    Clock::time_point seen_; // by the last pause
    int looks_; // of the next spin, between two looks at the clock
    bool spinning_ = false;
    bool in_vain_ = false;
    bool slept_ = false;
    std::optional<Clock::duration> overslept_; // what to think that an answer took which was there when a long sleep ended
    std::optional<WaitingRow::Place> place_; // of a thread that others keep from spinning
};

// Looks at the word until it is not 0, for at most `looks` times: what it was last, with acquire order.
uint32_t watch_word(const std::atomic<uint32_t> &word, int looks);

// What lies between two looks at shared memory.
void relax();

// Whether the calling thread was lucky again and again while others stood in the row: then it goes there itself, even if its reply is there.
bool turn_is_over();

// The first thing to do about waiting: looks at the word for a little longer than a quick call takes, without a clock. What it
// was last; 0 as well when the thread's turn is over.
uint32_t look_for_quick_reply(const std::atomic<uint32_t> &word, Pace &pace);

// The word once it is not 0, read with acquire order; 0 when `until` passed before, or when `hopeless()`, asked at each step of
// waiting, says that nothing will come.
template <typename Hopeless>
uint32_t await_word(const std::atomic<uint32_t> &word, const Deadline &until, Pace &pace, Hopeless hopeless,
                    OtherSide other = OtherSide::awake) {
    uint32_t value = word.load(std::memory_order_acquire);
    if (value != 0 && !turn_is_over()) return value;
    ReplyWait wait(word, pace, other);
    for (;;) {
        bool over = hopeless();
        // Once more after the last look at the time or the other side: the answer may have come before its end.
        over = wait.pause() >= until.moment() || over;
        value = word.load(std::memory_order_acquire);
        if (value == 0 && !over) continue;
        if (value == 0) wait.give_up();
        return value;
    }
}

} // namespace apir::guest
