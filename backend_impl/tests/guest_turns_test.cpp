// Threads that call at the same time, more than there are processors for: by the ring each keeps its turn, and each gets one; where QEMU carries
// the commands nobody waits for another's.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <sched.h>
#include <string>
#include <thread>
#include <time.h>
#include <vector>

#include "guest/reply_wait.hpp"
#include "guest_fake.hpp"

using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

constexpr int threads = 3;
constexpr auto time_to_call = 300ms;
// Too long for a first look, quick enough that it is waited for awake.
constexpr auto reply_time = 5us;
// A thread's turn is some thousand such calls, unless the machine is busy with something else: whoever waits for 2 ms lets the others in.
// Then a later try will do. With turns of 64, or without any, one in 110 to 370 calls is another thread's, in each try.
constexpr uint64_t least_turn = 400;
// The thread with the fewest calls has a tenth of the others' at least; some 85 % where nothing else runs.
constexpr uint64_t least_share = 10;
// That many tries in which the machine had nothing else to do. Others count as one of the tries in all.
constexpr int undisturbed_tries = 10;
constexpr int tries_in_all = 60;
// As QEMU's main thread carries them: 3000 at the most in the time. Mostly each call is of another thread than the one before it; with turns one
// of 100 is. A single thread makes almost as many; where all stand in the row without anybody to call them, they make 820.
constexpr auto carried_reply_time = 100us;
constexpr uint64_t least_of_one = 2; // what one thread makes by this
constexpr uint64_t least_changes = 4; // the number of calls by this

// One of them for the threads, one for the host: then a single thread may wait awake.
bool use_two_processors() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&allowed) > 2; ++i) CPU_CLR(i, &allowed);
    return sched_setaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) == 2;
}

Clock::duration processor_time() {
    timespec time{};
    expect(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0, "the processor time of this process is known");
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Tries until one went well, or enough did not. Whoever has both processors for itself uses at least one and a half of them: the host looks all
// the time, and a caller does mostly. What is tried and only sleeps is given more tries than it needs, and fails in them all.
template <typename Try> bool any_try(Try went_well) {
    int undisturbed = 0;
    int all = 0;
    for (; undisturbed < undisturbed_tries && all < tries_in_all; ++all) {
        const auto used_before = processor_time();
        const auto begin = Clock::now();
        if (went_well()) return true;
        if (processor_time() - used_before >= (Clock::now() - begin) * 3 / 2) ++undisturbed;
    }
    std::printf("    in %d of %d tries this test had both processors for itself\n", undisturbed, all);
    return false;
}

struct alignas(64) Slot {
    std::atomic<uint32_t> request{0};
    std::atomic<uint32_t> reply{0};
};

void call(Slot &slot, Pace &pace, OtherSide other) {
    slot.reply.store(0, std::memory_order_relaxed);
    slot.request.store(1, std::memory_order_release);
    uint32_t value = look_for_quick_reply(slot.reply, pace);
    if (value == 0) value = await_word(slot.reply, Deadline(Clock::duration(20s)), pace, [] { return false; }, other);
    expect(value != 0, "a reply");
}

// What the host saw: how many calls of each thread, and how often one was of another thread than the call before it.
struct Seen {
    uint64_t calls[threads] = {};
    uint64_t changes = 0;
    bool row = false; // somebody stood in it

    uint64_t all_calls() const { return std::accumulate(calls, calls + threads, uint64_t{0}); }
};

// Answers one after the other.
Seen answer(Slot (&slots)[threads], const std::atomic<int> &running, Clock::duration reply_time) {
    Seen seen;
    int last = -1;
    while (running.load() != 0) {
        for (int i = 0; i < threads; ++i) {
            if (slots[i].request.exchange(0, std::memory_order_acquire) == 0) continue;
            ++seen.calls[i];
            if (last != i) ++seen.changes;
            last = i;
            const auto due = Clock::now() + reply_time;
            while (Clock::now() < due) {}
            seen.row = seen.row || !WaitingRow::instance().empty();
            slots[i].reply.store(1, std::memory_order_release);
        }
    }
    return seen;
}

Seen calls_of_all(OtherSide other, Clock::duration reply_time, int callers_in_all = threads) {
    Slot slots[threads];
    Pace pace;
    std::atomic<int> running{callers_in_all};
    std::vector<std::thread> callers;
    const auto end = Clock::now() + time_to_call;
    for (int i = 0; i < callers_in_all; ++i) {
        callers.emplace_back([&, i] {
            Slot &slot = slots[i];
            while (Clock::now() < end) call(slot, pace, other);
            running.fetch_sub(1);
        });
    }
    const Seen seen = answer(slots, running, reply_time);
    for (std::thread &caller : callers) caller.join();
    return seen;
}

void turns_are_kept() {
    std::string seen_tries;
    const bool kept = any_try([&] {
        const Seen seen = calls_of_all(OtherSide::awake, reply_time);
        const uint64_t calls = seen.all_calls();
        const auto [fewest, most] = std::minmax_element(seen.calls, seen.calls + threads);
        seen_tries += ' ' + std::to_string(seen.changes) + '/' + std::to_string(calls) + '/' + std::to_string(*fewest);
        expect(WaitingRow::instance().empty(), "nobody stands in the row any more");
        return seen.changes <= calls / least_turn && *fewest >= *most / least_share;
    });
    expect(kept, "threads kept their turns, and each had some; changes/calls/fewest calls of a thread:" + seen_tries);
}

void carried_calls_go_beside_each_other() {
    std::string seen_tries;
    const bool beside = any_try([&] {
        const Seen seen = calls_of_all(OtherSide::carried, carried_reply_time);
        const Seen alone = calls_of_all(OtherSide::carried, carried_reply_time, 1);
        seen_tries += ' ' + std::to_string(seen.changes) + '/' + std::to_string(seen.all_calls()) + '/' + std::to_string(alone.all_calls());
        expect(!seen.row, "nobody stands in the row");
        return seen.changes >= seen.all_calls() / least_changes && seen.all_calls() >= alone.all_calls() / least_of_one;
    });
    expect(beside, "threads whose commands are carried wait for each other; changes/calls/calls of one:" + seen_tries);
}

} // namespace

int main() {
    // A machine with one processor has nothing to share.
    if (!use_two_processors()) return failures();
    turns_are_kept();
    carried_calls_go_beside_each_other();
    return failures();
}
