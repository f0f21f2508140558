// The row of threads that wait asleep: who is called, in which order, and what happens when nobody is there to call.
#include <algorithm>
#include <memory>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "guest/reply_wait.hpp"
#include "guest_fake.hpp"
#include "wire/processors.hpp"

using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

using Word = std::atomic<uint32_t>;

constexpr auto patience = 20s; // of a thread that is called: never reached

int processors_allowed() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    expect(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "the system tells which processors a thread may use");
    return CPU_COUNT(&allowed);
}

// A thread that stands in the row until it is called.
class Waiter {
  public:
    Waiter(WaitingRow &row, std::vector<int> &called, int number)
        : thread_([this, &row, &called, number] {
              before = processors_allowed();
              {
                  WaitingRow::Place place(row, word);
                  const auto start = Clock::now();
                  stands = true;
                  if (place.sleep(patience) && Clock::now() - start < patience) called.push_back(number); // the bell was rung, too
                  while_called = processors_allowed();
                  runs_on = sched_getcpu();
              }
              after = processors_allowed();
              ended = true;
          }) {
        while (!stands) std::this_thread::yield();
    }
    void join() { thread_.join(); }

    Word word{0};
    std::atomic<bool> stands{false};
    std::atomic<bool> ended{false};
    // How many processors the thread might use, and on which one it was.
    int before = 0;
    int while_called = 0;
    int after = 0;
    int runs_on = -1;

  private:
    std::thread thread_;
};

void first_come_first_called() {
    WaitingRow row;
    std::vector<int> called;
    expect(row.empty(), "a new row is empty");
    Waiter first(row, called, 1);
    Waiter second(row, called, 2);
    expect(!row.empty(), "two stand in the row");
    row.call_first();
    first.join();
    expect(called == std::vector<int>{1} && !second.ended, "the first one is called, and only that");
    row.call_first();
    second.join();
    expect(called == std::vector<int>{1, 2} && row.empty(), "then the second one");
    row.call_first();
}

void answered_ones_are_called() {
    WaitingRow row;
    std::vector<int> called, also_called;
    Waiter first(row, called, 1);
    Waiter second(row, called, 2);
    Waiter third(row, also_called, 3);
    row.call_answered();
    expect(!first.ended && !second.ended && !third.ended, "nobody has a reply");
    second.word = third.word = 5;
    row.call_answered();
    second.join();
    third.join();
    expect(called == std::vector<int>{2} && also_called == std::vector<int>{3} && !first.ended, "who has its reply is called, whatever its place");
    row.call_first();
    first.join();
}

// Whoever gives way leaves its processor to the one that it calls, for no longer than until that one runs.
void way_is_given() {
    WaitingRow row;
    std::vector<int> called;
    expect(!row.give_way(), "nobody to give way to");
    Waiter first(row, called, 1);
    Waiter second(row, called, 2);
    int here = -1;
    std::thread([&] {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(static_cast<size_t>(here = sched_getcpu()), &only);
        expect(sched_setaffinity(0, sizeof only, &only) == 0, "a thread that stays where it is");
        expect(row.give_way(), "the first one is there");
    }).join();
    first.join();
    expect(called == std::vector<int>{1} && !second.ended, "the first one is called, and only that");
    expect(first.while_called == 1 && first.runs_on == here, "to the processor of the one that gave way");
    expect(first.after == first.before, "and may use all of its own afterwards");
    row.call_first();
    second.join();
    expect(second.while_called == second.before, "who is only called stays free");
}

void bind_to(int processor) {
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(static_cast<size_t>(processor), &only);
    expect(sched_setaffinity(0, sizeof only, &only) == 0, "a thread on one processor");
}

// A program has its reasons for where its threads may run.
void nobody_is_called_to_where_it_may_not_run() {
    const cpu_set_t allowed = apir::allowed_processors();
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(static_cast<size_t>(last), &allowed)) --last;
    const int other = last;
    while (last >= 0 && (last == other || !CPU_ISSET(static_cast<size_t>(last), &allowed))) --last;
    if (last < 0) return;
    WaitingRow row;
    std::vector<int> called;
    bind_to(other);
    Waiter waiter(row, called, 1);
    bind_to(last);
    expect(row.give_way(), "somebody is there");
    waiter.join();
    expect(called == std::vector<int>{1} && waiter.runs_on == other && waiter.after == 1, "called, and where it was");
    sched_setaffinity(0, sizeof allowed, &allowed);
}

Clock::duration slept(WaitingRow::Place &place) {
    const auto start = Clock::now();
    expect(!place.sleep(1ms), "nobody calls");
    return Clock::now() - start;
}

// Of several times: a busy machine may let a thread sleep longer.
template <typename Slept> Clock::duration least_slept(Slept slept) {
    Clock::duration least = slept();
    for (int again = 0; again < 20 && least >= 60ms; ++again) least = std::min(least, slept());
    return least;
}

// Two threads give way, one so long after the other. How long it was at most: a busy machine may take longer.
Clock::duration take_turns(WaitingRow &row, Clock::duration turn) {
    std::vector<int> called;
    Waiter first(row, called, 1);
    Waiter second(row, called, 2);
    const auto start = Clock::now();
    row.give_way();
    first.join();
    std::this_thread::sleep_for(turn);
    row.give_way();
    const auto took = Clock::now() - start;
    second.join();
    return took;
}

// The first time nobody looks before it can be its turn, if turns follow each other. Then it is late, and there may be nobody who would call.
void turns_are_waited_for() {
    WaitingRow row;
    Word word{0};
    const auto slept_alone = [&] {
        WaitingRow::Place place(row, word);
        return slept(place);
    };
    for (int again = 0; again < 20 && take_turns(row, 40ms) > 100ms; ++again) {}
    {
        WaitingRow::Place first(row, word);
        WaitingRow::Place second(row, word);
        expect(slept(first) >= 60ms, "half a turn late at the earliest");
        expect(slept(second) >= 120ms, "the second one waits for two");
        expect(least_slept([&] { return slept(first); }) < 60ms, "who is late looks when it likes");
        std::vector<std::unique_ptr<WaitingRow::Place>> many;
        while (many.size() < 50) many.push_back(std::make_unique<WaitingRow::Place>(row, word));
        expect(slept(*many.back()) < 2s, "whose turn is far off looks all the same");
    }
    row.forget_turn();
    expect(least_slept(slept_alone) < 60ms, "without turns it looks when it likes");
    take_turns(row, 110ms);
    expect(least_slept(slept_alone) < 60ms, "such as those of threads that did something else in between");
}

// Of a thread that gets its reply while it stands in the row and the one in front gets eight, again and again, so long after each other: how long
// it stands there.
Clock::duration stood(Clock::duration between) {
    WaitingRow &row = WaitingRow::instance();
    Word never{0};
    Word word{0};
    Pace pace;
    std::vector<std::unique_ptr<ReplyWait>> in_front;
    for (unsigned awake = 0; awake < std::max(2u, std::thread::hardware_concurrency()) - 1; ++awake)
        in_front.push_back(std::make_unique<ReplyWait>(never, pace));
    Clock::duration took{};
    std::atomic<bool> over{false};
    std::thread waiting([&] {
        const auto start = Clock::now();
        expect(await_word(word, Deadline(patience), pace, [] { return false; }) == 7, "its reply");
        took = Clock::now() - start;
        over = true;
    });
    while (row.empty() && !over) std::this_thread::yield();
    word = 7;
    for (auto next = Clock::now(); !over; next += between) {
        row.beat(8);
        while (!over && Clock::now() < next) relax();
    }
    waiting.join();
    for (auto &wait : in_front) wait->give_up();
    return took;
}

// Who works between its calls is no reason to wait, who does little else is.
void others_work_between_calls() {
    Clock::duration beside_working = stood(800us);
    Clock::duration beside_calling = stood(40us);
    for (int again = 0; again < 20 && (beside_working >= 20ms || beside_calling < 40ms); ++again) {
        beside_working = std::min(beside_working, stood(800us));
        beside_calling = std::max(beside_calling, stood(40us));
    }
    expect(beside_working < 20ms, "a reply every 100 us: it is soon looked for");
    expect(beside_calling >= 40ms, "every 5 us: a turn is waited for");
}

// Replies that are there at once, of a thread that works so long between its calls, while another one stands in the row: how many are its turn.
int replies_of_a_turn(Clock::duration work) {
    Word never{0};
    WaitingRow::Place other(WaitingRow::instance(), never);
    Word word{1};
    Pace pace;
    int replies = 0;
    const uint32_t beats = WaitingRow::instance().beats();
    std::thread([&] {
        for (; !turn_is_over() && replies < 10'000; ++replies) {
            expect(look_for_quick_reply(word, pace) == 1, "the reply");
            const auto until = Clock::now() + work;
            while (work.count() > 0 && Clock::now() < until) relax();
        }
    }).join();
    const auto counted = static_cast<int>(WaitingRow::instance().beats() - beats);
    expect(counted == replies / 8 * 8, "of " + std::to_string(replies) + " replies " + std::to_string(counted) + " are counted");
    return replies;
}

void turns_end() {
    int at_once = replies_of_a_turn(0us);
    for (int again = 0; again < 20 && at_once != 8192; ++again) at_once = replies_of_a_turn(0us);
    expect(at_once == 8192, "a turn of quick replies, not of " + std::to_string(at_once));
    const int worked = replies_of_a_turn(50us);
    expect(worked <= 512, "who works in between has one of some ten milliseconds, not of " + std::to_string(worked) + " replies");
}

// How many of so many replies that are spun for the others in the row hear of.
uint32_t counted_of_spun(int replies) {
    WaitingRow &row = WaitingRow::instance();
    Word never{0};
    WaitingRow::Place other(row, never);
    Word there{1};
    const uint32_t beats = row.beats();
    std::thread([&] {
        Pace pace;
        for (; replies > 0; --replies) {
            // Else the one in the row would be called.
            while (pace.expected() > 1us) pace.learn(Clock::duration::zero());
            ReplyWait(there, pace).pause();
        }
    }).join();
    return row.beats() - beats;
}

// Such a reply is a longer part of the turn, but one reply.
void spun_replies_are_counted_once() {
    uint32_t counted = counted_of_spun(24);
    for (int again = 0; again < 20 && counted != 24; ++again) counted = counted_of_spun(24);
    expect(counted == 24, "24 replies, not " + std::to_string(counted));
}

void nobody_calls() {
    WaitingRow row;
    Word word{0};
    {
        WaitingRow::Place place(row, word);
        expect(!place.sleep(1ms), "a sleep that nobody ends");
        expect(!row.empty(), "the place is kept");
    }
    expect(row.empty(), "it is gone with its thread");
}

// More threads wait than may do so awake: each sees its reply all the same, with and without somebody awake. Now and then one waits for a worker
// that sleeps.
void replies_to_many(OtherSide mostly, OtherSide now_and_then) {
    constexpr int threads = 8;
    constexpr int rounds = 200;
    Word words[threads] = {};
    Pace pace;
    std::vector<std::thread> waiting;
    std::atomic<int> seen{0};
    for (int i = 0; i < threads; ++i) {
        waiting.emplace_back([&, i] {
            for (uint32_t round = 1; round <= rounds; ++round) {
                uint32_t value = look_for_quick_reply(words[i], pace);
                const OtherSide other = round % 50 == 0 ? now_and_then : mostly;
                if (value == 0) value = await_word(words[i], Deadline(patience), pace, [] { return false; }, other);
                expect(value == round, "a reply of round " + std::to_string(round));
                words[i].store(0);
                seen.fetch_add(1);
            }
        });
    }
    for (uint32_t round = 1; round <= rounds; ++round) {
        for (Word &word : words) {
            while (word.load() != 0) std::this_thread::yield();
            word.store(round, std::memory_order_release);
        }
    }
    for (std::thread &thread : waiting) thread.join();
    expect(seen == threads * rounds, "every reply was seen");
    expect(WaitingRow::instance().empty(), "nobody stands in the row any more");
}

void deadline_holds_in_the_row() {
    Word nothing{0};
    Pace pace;
    std::vector<std::thread> waiting;
    std::atomic<int> over{0};
    for (int i = 0; i < 4; ++i) {
        waiting.emplace_back([&] {
            over += await_word(nothing, Deadline(Clock::duration(50ms)), pace, [] { return false; }) == 0 ? 1 : 0;
        });
    }
    const auto start = Clock::now();
    for (std::thread &thread : waiting) thread.join();
    expect(over == 4, "no reply, no value");
    expect(Clock::now() - start < 10s, "and no waiting far beyond the deadline");
}

// However long such answers took lately: the other side may have died.
void what_takes_long_is_looked_at_meanwhile() {
    Word nothing{0};
    Pace pace;
    while (pace.soonest() < 2 * patience) pace.learn_slow(4 * patience);
    const auto start = Clock::now();
    expect(await_word(nothing, Deadline(Clock::duration(50ms)), pace, [] { return false; }) == 0, "no answer");
    expect(Clock::now() - start < patience / 2, "slept for until an answer is due, beyond the deadline");
}

// Nor does it count as one that is awake.
void who_sleeps_keeps_nobody_from_being_awake() {
    Word nothing{0};
    Pace pace;
    std::vector<std::unique_ptr<ReplyWait>> asleep;
    for (unsigned i = 0; i < std::max(2u, std::thread::hardware_concurrency()) - 1; ++i) {
        asleep.push_back(std::make_unique<ReplyWait>(nothing, pace));
        for (auto start = Clock::now(); asleep.back()->pause() - start < 3ms;) continue;
        asleep.back()->pause();
    }
    {
        const ReplyWait another(nothing, pace);
        expect(WaitingRow::instance().empty(), "who waits behind sleepers stands in the row");
    }
    const size_t most = asleep.size();
    asleep.clear();
    std::vector<std::unique_ptr<ReplyWait>> awake;
    for (size_t i = 0; i <= most; ++i) {
        expect(WaitingRow::instance().empty(), "who may wait awake stands in the row");
        awake.push_back(std::make_unique<ReplyWait>(nothing, pace));
    }
    expect(!WaitingRow::instance().empty(), "more are awake than may be, for others slept");
}

struct Waited {
    long sleeps;
    Clock::duration took;
};

// Waits for so many answers that come so long after it began: the median of the last ones.
Waited waits_for(Pace &pace, Clock::duration after, int count, int last, OtherSide other = OtherSide::awake) {
    const auto sleeps = [] {
        rusage used{};
        getrusage(RUSAGE_THREAD, &used);
        return used.ru_nvcsw;
    };
    std::vector<long> slept;
    std::vector<Clock::duration> took;
    for (int i = 0; i < count; ++i) {
        Word word{0};
        std::thread answers([&, start = Clock::now()] {
            std::this_thread::sleep_until(start + after);
            word.store(1, std::memory_order_release);
        });
        const long before = sleeps();
        const auto start = Clock::now();
        expect(await_word(word, Deadline(patience), pace, [] { return false; }, other) == 1, "the answer");
        took.push_back(Clock::now() - start);
        slept.push_back(sleeps() - before);
        answers.join();
    }
    const auto median = [last](auto values) {
        values.erase(values.begin(), values.end() - last);
        std::nth_element(values.begin(), values.begin() + last / 2, values.end());
        return values[static_cast<size_t>(last) / 2];
    };
    return {median(slept), median(took)};
}

std::string in_us(Clock::duration time) { return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(time).count()) + " us"; }

// Of several tries the best: others may have kept the processors.
template <typename Try, typename Good> bool in_some_try(Try once, Good good) {
    for (int again = 0; again < 10; ++again)
        if (good(once())) return true;
    return false;
}

// What is known to take long is slept for at once, and what no longer does is seen soon all the same, whether its worker was awake or not.
void long_answers_are_slept_for() {
    Pace pace;
    waits_for(pace, 3ms, 80, 1);
    std::string seen;
    const auto told = [&](const Waited &waited) { seen += " " + std::to_string(waited.sleeps) + " sleeps, " + in_us(waited.took) + ";"; };
    expect(in_some_try([&] { return waits_for(pace, 3ms, 15, 15); },
                       [&](const Waited &waited) { return told(waited), waited.sleeps <= 2 && waited.took < 4ms; }),
           "answers of 3 ms:" + seen);
    for (const OtherSide other : {OtherSide::awake, OtherSide::asleep, OtherSide::carried_asleep}) {
        waits_for(pace, 8ms, 90, 1);
        seen.clear();
        expect(in_some_try([&] { return waits_for(pace, 1ms, 15, 5, other); }, [&](const Waited &waited) { return told(waited), waited.took < 3ms; }),
               "answers of 1 ms after those of 8:" + seen);
    }
    seen.clear();
    expect(in_some_try(
               [&] {
                   const Clock::duration before = pace.soonest();
                   const Waited quick = waits_for(pace, 0ms, 60, 15);
                   seen += " " + in_us(quick.took) + ", the soonest " + in_us(pace.soonest()) + " for " + in_us(before) + ";";
                   return quick.took < 1ms && before > 0ms && pace.soonest() > before / 2;
               },
               [](bool good) { return good; }),
           "quick ones after those, which say nothing of what is slept for:" + seen);
}

// Of many long answers for each shorter one: the shorter ones are not slept over.
void long_and_shorter_answers() {
    for (const int many : {3, 8}) {
        Pace pace;
        Clock::duration best = patience;
        for (int i = 0; i < 12; ++i) {
            waits_for(pace, 8ms, many, 1);
            const Waited shorter = waits_for(pace, 2ms, 1, 1);
            if (i >= 8) best = std::min(best, shorter.took);
        }
        expect(best < 5ms, "an answer of 2 ms behind " + std::to_string(many) + " of 8, seen after " + in_us(best));
    }
}

// Room in a ring is waited for with a word that stays 0: nothing to learn from.
void nothing_is_learned_without_a_word() {
    Pace pace;
    Word nothing{0};
    for (int i = 0; i < 3; ++i) {
        ReplyWait wait(nothing, pace);
        const auto start = Clock::now();
        while (Clock::now() - start < 3ms) wait.pause();
    }
    expect(pace.soonest() == 0ms, "no answer, and yet " + in_us(pace.soonest()));
}

// A program's static object, which lives longer than its first thread's own ones, and waits in the row.
class WaitsAtExit {
  public:
    ~WaitsAtExit() {
        WaitingRow row;
        Word word{0};
        WaitingRow::Place place(row, word);
        if (place.sleep(1ms)) _exit(1);
    }
};

} // namespace

int main() {
    static WaitsAtExit late;
    first_come_first_called();
    answered_ones_are_called();
    way_is_given();
    nobody_is_called_to_where_it_may_not_run();
    turns_are_waited_for();
    others_work_between_calls();
    turns_end();
    spun_replies_are_counted_once();
    nobody_calls();
    replies_to_many(OtherSide::awake, OtherSide::asleep);
    replies_to_many(OtherSide::carried, OtherSide::carried_asleep);
    deadline_holds_in_the_row();
    what_takes_long_is_looked_at_meanwhile();
    who_sleeps_keeps_nobody_from_being_awake();
    long_answers_are_slept_for();
    long_and_shorter_answers();
    nothing_is_learned_without_a_word();
    return failures();
}
