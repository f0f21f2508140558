// The row of threads that wait asleep: who is called, in which order, and what happens when nobody is there to call.
#include <thread>
#include <vector>

#include "guest/reply_wait.hpp"
#include "guest_fake.hpp"

using namespace apir::guest;
using namespace apir::guest::test;
using namespace std::chrono_literals;

namespace {

using Word = std::atomic<uint32_t>;

constexpr auto patience = 20s; // of a thread that is called: never reached

// A thread that stands in the row until it is called.
class Waiter {
  public:
    Waiter(WaitingRow &row, std::vector<int> &called, int number) : place_(row, word), thread_([this, &called, number] {
        if (place_.sleep(patience)) called.push_back(number);
        ended = true;
    }) {}
    void join() { thread_.join(); }

    Word word{0};
    std::atomic<bool> ended{false};

  private:
    WaitingRow::Place place_;
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
    std::vector<int> called;
    Waiter first(row, called, 1);
    Waiter second(row, called, 2);
    row.call_answered();
    expect(!first.ended && !second.ended, "nobody has a reply");
    second.word = 5;
    row.call_answered();
    second.join();
    expect(called == std::vector<int>{2} && !first.ended, "who has its reply is called, whatever its place");
    row.call_first();
    first.join();
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

// More threads wait than may do so awake: each sees its reply all the same, with and without somebody awake.
void replies_to_many() {
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
                const OtherSide other = round % 50 == 0 ? OtherSide::asleep : OtherSide::awake;
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

} // namespace

int main() {
    first_come_first_called();
    answered_ones_are_called();
    nobody_calls();
    replies_to_many();
    deadline_holds_in_the_row();
    return failures();
}
