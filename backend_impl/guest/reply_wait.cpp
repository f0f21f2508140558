#include "reply_wait.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "emulated.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

constexpr Clock::duration least_spin = 20us;
constexpr Clock::duration longest_spin = 200us;
constexpr Clock::duration shortest_yield = 250us; // a worker that has to be woken first is there by then
constexpr Clock::duration longest_yield = 1ms;
constexpr Clock::duration shortest_sleep = 20us;
constexpr Clock::duration longest_sleep = 2ms;
constexpr Clock::duration longest_counted = 100ms;
constexpr int most_growth = 8; // of what is expected, that one wait counts with: an exception is no rule
constexpr int sleep_share = 16; // a sleep is this part of the time waited so far
// The one long sleep ends by this part of the soonest answer before that is due. Where that is not long before, the thread is awake for twice as long.
constexpr int early_share = 8;
constexpr Clock::duration shortest_due = 200us;
constexpr Clock::duration longest_due = 1ms;
constexpr Clock::duration longest_at_once = 20ms; // then the other side is looked at
constexpr Clock::duration longest_lateness = 1ms;
// The soonest becomes later by this part of it with each answer, and half as long as was slept for one that was there by then: of up to a dozen long
// answers for each short one it still is the short one's.
constexpr int soonest_growth = 32;
constexpr Clock::duration least_growth = 20us;
constexpr int first_looks = 512;
constexpr int longest_looks = 8192;
// Where QEMU's main thread has to run for the reply, a virtual processor that stays awake may be what keeps it from doing so: the host's
// scheduler leaves a thread behind the one that runs for 1.4 to 4 ms, even with a processor idle beside them (where its turns are not short:
// before Linux 6.12, or with another component than ours). To sleep for a moment lets it in. So whoever waits for a worker that sleeps
// spins for no longer than its quickest waking, and whoever waits for a command that QEMU carries yields for no longer than a slow one.
constexpr Clock::duration waking_spin = 60us;
constexpr Clock::duration longest_carried_yield = 400us;
// A thread's turn while others stand in the row, counted in quick replies; one for which it had to spin counts as several. Some ten
// milliseconds: to change places costs hundreds of microseconds where guest and worker have two real processors together. A thread that works
// between its calls would take longer: now and then it looks at the clock.
constexpr int turn = 8192;
constexpr int spun_reply = 32;
constexpr Clock::duration turn_time = 10ms;
constexpr int replies_by_the_clock = 128;
// Where replies take longer than this, who leaves the row's front calls the next one by itself.
constexpr Clock::duration quick_pace = 20us;
// Who waits for a quick reply for longer than this looks whether others in the row have theirs. Earlier it would wake them in the middle of
// its own turn, each time that the worker has to do without a processor for a moment, and take that processor from it for longer.
constexpr Clock::duration unexpected = 2ms;
// How often a thread in the row looks whether there still is somebody awake who will call it: the more rarely, the longer there was. Each look is
// a timer of the virtual processor's, which QEMU's main thread has to wake for.
constexpr Clock::duration first_row_look = 1ms;
constexpr Clock::duration longest_row_look = 8ms;
constexpr int most_row_looks = 20;
// Whoever in front gets its replies more rarely than so, or a little more, works between its calls. Who is late for its turn, or has no turn to
// wait for, does not wait for the end of that one: it would be kept from its own work for as long. On two processors, two threads that work for
// 20 us between their calls make 39 calls a millisecond one after the other, as one does alone, and 36 side by side; those that work for 200 us
// 4 and 7.
constexpr Clock::duration sparse_pace = 2 * quick_pace;
// Quick replies are counted eight at a time, and by nothing but a number of the thread's own in between: to look at the row with each, to ask whether the
// clock is due, and to add to the row's own count, an atomic operation, took an emulated guest 5 % of its calls while others stood there.
constexpr int counted_at_once = 8;
constexpr int yields_at_once = 8;

// Threads that spin or yield at this moment. More of them than cores but one would keep the host's worker from running where
// the guest's cores are the host's: the others stand in the row, so that a virtual processor falls idle and the worker gets a real one.
std::atomic<int> spinners{0};
// The same of those who wait for commands that QEMU carries. They stand in no row: each command takes its thread tens of microseconds in the
// guest's kernel, and as long again elsewhere, in which the next thread may send its own. So who is not alone yields from the beginning.
std::atomic<int> carried_waits{0};
// How much later than it was to a thread wakes up: an average. In an emulated guest hundreds of microseconds.
std::atomic<Clock::rep> lateness{Clock::duration(100us).count()};
// Found without a call, which every quick reply would make several times: some bytes of what the system keeps for libraries that come late.
#define FOUND_AT_ONCE [[gnu::tls_model("initial-exec")]] thread_local
FOUND_AT_ONCE int awake_for = 0;
FOUND_AT_ONCE int uncounted = 0; // shares of replies
FOUND_AT_ONCE bool turn_over = false;
FOUND_AT_ONCE Clock::time_point turn_began;
#undef FOUND_AT_ONCE

bool is_carried(OtherSide other) { return other == OtherSide::carried || other == OtherSide::carried_asleep; }
bool sleeps(OtherSide other) { return other == OtherSide::asleep || other == OtherSide::carried_asleep; }

int spinner_limit() {
    static const int limit = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);
    return limit;
}

// Of the thread's turn, in which it had so many replies before this one.
bool takes_too_long(int before) {
    if (before != 0 && awake_for / replies_by_the_clock == before / replies_by_the_clock) return false;
    const Clock::time_point now = Clock::now();
    if (before == 0) turn_began = now;
    return now - turn_began > turn_time;
}

// Of replies to a thread that did not sleep for them. While nobody stands in the row, its turn takes nothing from anybody.
[[gnu::noinline]] void count_towards_turn(int shares) {
    WaitingRow &row = WaitingRow::instance();
    if (row.empty()) {
        awake_for = 0;
        return;
    }
    row.beat(shares / spun_reply + shares % spun_reply);
    const int before = std::exchange(awake_for, awake_for + shares);
    if (awake_for < turn && !takes_too_long(before)) return;
    awake_for = 0;
    turn_over = true;
}

// A reply came to a thread that did not sleep for it.
inline void stay_awake(int share) {
    uncounted += share;
    if (uncounted >= counted_at_once) count_towards_turn(std::exchange(uncounted, 0));
}

// QEMU's emulator leaves the virtual processor at each PAUSE and takes its big lock, which the thread that carries our
// submission wants too.
inline __attribute__((always_inline)) void relax_in_place() {
#if defined(__x86_64__) || defined(__i386__)
    if (is_emulated()) asm volatile("" ::: "memory");
    else __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// In the middle of a quick call nothing is called that an emulator would have to look up.
inline __attribute__((always_inline)) uint32_t look_at_word(const std::atomic<uint32_t> &word, int looks) {
    uint32_t value = word.load(std::memory_order_acquire);
    for (int i = 1; i < looks && value == 0; ++i) {
        relax_in_place();
        value = word.load(std::memory_order_acquire);
    }
    return value;
}

} // namespace

void relax() { relax_in_place(); }

// Threads may overwrite each other's share: an average that misses one wait is as good.
void Pace::learn(Clock::duration took) {
    Clock::rep expected = expected_.load(std::memory_order_relaxed);
    const Clock::rep counted = std::min({took.count(), longest_counted.count(), expected * most_growth + Clock::duration(1us).count()});
    expected_.store((expected * 7 + counted) / 8, std::memory_order_relaxed);
}

void Pace::learn_slow(Clock::duration took) {
    const Clock::rep soonest = soonest_.load(std::memory_order_relaxed);
    const Clock::rep later = soonest + soonest / soonest_growth + Clock::duration(least_growth).count();
    soonest_.store(std::min(took.count(), later), std::memory_order_relaxed);
}

// What is expected within a longest spin is spun for, with a margin. What takes longer is not worth a core from its first
// moment: a short spin for the answer that is quick for once, then yields, then sleeps.
ReplyWait::ReplyWait(const std::atomic<uint32_t> &word, Pace &pace, OtherSide other)
    : word_(word), pace_(pace), other_(other), start_(Clock::now()), seen_(start_), looks_(first_looks) {
    const bool gave_way = !is_carried(other_) && std::exchange(turn_over, false) && WaitingRow::instance().give_way();
    if (gave_way || !begin_spinning()) {
        awake_for = 0;
        place_.emplace(WaitingRow::instance(), word_);
    }
}

// Whether replies of this kind come so soon that the thread's turn goes on.
bool ReplyWait::is_quick() const { return pace_.expected() < quick_pace; }

// Yields until then, unless as many are awake already as may be.
bool ReplyWait::stay_awake_until(Clock::time_point moment) {
    if (is_carried(other_)) {
        carried_waits.fetch_add(1, std::memory_order_relaxed);
    } else if (spinners.fetch_add(1) >= spinner_limit()) {
        spinners.fetch_sub(1);
        return false;
    }
    spinning_ = true;
    yield_until_ = moment;
    return true;
}

bool ReplyWait::begin_spinning() {
    if (!stay_awake_until(seen_)) return false;
    const Clock::duration expected = pace_.expected();
    if (sleeps(other_)) {
        spin_until_ = yield_until_ = seen_ + waking_spin;
        return true;
    }
    spin_until_ = seen_ + (expected > longest_spin ? least_spin : std::clamp(expected * 4, least_spin, longest_spin));
    // What is much later than expected waits for somebody who has no processor: better asleep than in the way.
    const Clock::duration most = other_ == OtherSide::carried ? longest_carried_yield : longest_yield;
    yield_until_ = seen_ + (expected > longest_yield ? longest_spin : std::clamp(expected * 10, shortest_yield, most));
    return true;
}

// Whether others wait awake for commands of theirs that QEMU carries.
bool ReplyWait::has_company() const {
    return is_carried(other_) && carried_waits.load(std::memory_order_relaxed) > 1;
}

ReplyWait::~ReplyWait() {
    const bool spun = spinning_;
    stop_spinning();
    place_.reset();
    const bool answered = !in_vain_ && word_.load(std::memory_order_relaxed) != 0; // not where the ring's room is waited for
    // What it takes to wake the other side says nothing of its replies, but that none took longer.
    if (!sleeps(other_) && !in_vain_) pace_.learn(seen_ - start_);
    if (answered && overslept_) pace_.learn_slow(*overslept_);
    else if (answered && slept_ && !sleeps(other_)) pace_.learn_slow(seen_ - start_);
    if (!spun || is_carried(other_)) return;
    if (!is_quick()) WaitingRow::instance().call_first();
    if (!slept_) stay_awake(spun_reply);
}

void ReplyWait::stop_spinning() {
    if (!spinning_) return;
    if (is_carried(other_)) carried_waits.fetch_sub(1, std::memory_order_relaxed);
    else spinners.fetch_sub(1);
    spinning_ = false;
}

// Until it is nearly time for the soonest answer, and then awake until that is there; or, where that is past or not known, for a nap.
void ReplyWait::sleep() {
    stop_spinning();
    slept_ = true;
    const Clock::duration waited = seen_ - start_;
    const Clock::duration nap = std::clamp<Clock::duration>(waited / sleep_share, shortest_sleep, longest_sleep);
    const Clock::duration soonest = pace_.soonest();
    const Clock::duration late(lateness.load(std::memory_order_relaxed));
    const Clock::duration left = soonest - soonest / early_share - late - waited;
    if (left <= nap) {
        std::this_thread::sleep_for(nap);
        return;
    }
    const Clock::duration planned = std::min(left, longest_at_once);
    std::this_thread::sleep_for(planned);
    const Clock::time_point began = std::exchange(seen_, Clock::now());
    const Clock::duration over = std::clamp<Clock::duration>(seen_ - began - planned, 0us, longest_lateness);
    lateness.store((late.count() * 7 + over.count()) / 8, std::memory_order_relaxed);
    if (word_.load(std::memory_order_relaxed) != 0) {
        overslept_ = (waited + planned) / 2;
        return;
    }
    const Clock::duration due = soonest * 2 / early_share;
    const Clock::duration most = is_carried(other_) ? longest_carried_yield : longest_due;
    if (planned == left && due <= longest_due) stay_awake_until(seen_ + std::clamp(due, shortest_due, most));
}

// Until the thread is called, or nobody seems to be there who would call it soon; then it looks for its reply as others do.
void ReplyWait::stand_in_row() {
    WaitingRow &row = WaitingRow::instance();
    bool called = false;
    uint32_t beats = row.beats();
    seen_ = Clock::now();
    Clock::duration look = first_row_look;
    for (int looks = 0; looks < most_row_looks; ++looks) {
        called = place_->sleep(look);
        if (called) break;
        const Clock::time_point looked = std::exchange(seen_, Clock::now());
        const uint32_t beaten = std::exchange(beats, row.beats());
        // Those that are not counted yet might be there.
        if ((beats - beaten + counted_at_once) * sparse_pace < seen_ - looked) {
            row.forget_turn();
            break;
        }
        look = std::min(look * 2, longest_row_look);
    }
    seen_ = Clock::now();
    if (word_.load(std::memory_order_relaxed) != 0) return;
    const bool awake = begin_spinning();
    if (awake || called) place_.reset();
    if (!awake && called) place_.emplace(row, word_);
}

Clock::time_point ReplyWait::pause() {
    if (place_) {
        stand_in_row();
        return seen_;
    }
    if (spinning_ && seen_ < spin_until_ && !has_company()) {
        watch_word(word_, looks_);
        // Half of the waiting at most lies behind the last look at the clock.
        looks_ = std::min(looks_ * 2, longest_looks);
    } else if (seen_ < yield_until_) {
        for (int i = 0; i < yields_at_once && word_.load(std::memory_order_relaxed) == 0; ++i) std::this_thread::yield();
    } else {
        sleep();
    }
    if (!is_carried(other_) && (!is_quick() || seen_ - start_ >= unexpected)) WaitingRow::instance().call_answered();
    seen_ = Clock::now();
    return seen_;
}

bool turn_is_over() { return turn_over; }

uint32_t look_for_quick_reply(const std::atomic<uint32_t> &word, Pace &pace) {
    if (turn_over) return 0;
    const uint32_t value = look_at_word(word, first_looks);
    if (value == 0) return 0;
    pace.learn(Clock::duration::zero());
    stay_awake(1);
    return value;
}

uint32_t watch_word(const std::atomic<uint32_t> &word, int looks) { return look_at_word(word, looks); }

} // namespace apir::guest
