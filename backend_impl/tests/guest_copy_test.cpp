// Copies of all sizes around the ones at which another way is taken, before and after the choice among loops has been made. And the rule by
// which two loops, or two ways of a transfer, are compared.
#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>

#include "copy_expect.hpp"
#include "guest/bulk_copy.hpp"
#include "guest/quicker_copy.hpp"
#include "guest/transfer_choice.hpp"

using namespace apir::guest;
using namespace apir::guest::test;

namespace {

void chosen(uint8_t *to, const uint8_t *from, size_t size) { bulk_copy(to, from, size); }

// Addresses that are never used: pages apart, and bytes.
bool collide(ptrdiff_t pages, ptrdiff_t bytes) {
    const uintptr_t from = uintptr_t{1} << 40;
    const uintptr_t to = from + static_cast<uintptr_t>(pages * 4096 + bytes);
    return pages_collide(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from));
}

void pages_of_the_same_place_in_the_emulators_table_collide() {
    for (ptrdiff_t pages : {0, 256, 512, 1024, -256, -1024, 65536})
        for (ptrdiff_t bytes : {-3967, -16, 0, 16, 3967}) {
            const std::string what = std::to_string(pages) + " pages and " + std::to_string(bytes) + " bytes apart";
            expect(collide(pages, bytes), what + " do not collide");
            expect(!collide(pages + 2, bytes) && !collide(pages - 2, bytes) && !collide(pages + 128, bytes), what + ", and others");
        }
    expect(!collide(1, 0) && !collide(-1, 0) && !collide(255, 0), "the next page is another one");
    for (ptrdiff_t bytes : {-4095, -4080, -3968, 3968, 4080, 4095})
        for (ptrdiff_t mebibytes : {-16, 0, 1, 16}) expect(!collide(mebibytes * 256, bytes), std::to_string(bytes) + " bytes apart, next to nothing collides");
}

constexpr size_t trials = 48;

// What two ways of known duration come to, some of the second one's delayed.
bool second_wins(int first_ns, int second_ns, int delayed_ns, size_t delayed) {
    TwoWays<trials> ways;
    for (size_t block = 0; !ways.decided(); ++block) {
        const bool second = ways.second();
        expect(second == (block % 2 != 0), "they take turns");
        const bool late = block / 2 < delayed;
        ways.took(second, TwoWays<trials>::Duration((second ? second_ns : first_ns) + (late && second ? delayed_ns : 0)));
    }
    ways.took(ways.second(), TwoWays<trials>::Duration(1000000));
    return ways.second();
}

void the_quicker_way_is_known_in_spite_of_noise() {
    expect(second_wins(100, 90, 0, 0), "the second one is quicker");
    expect(!second_wins(100, 110, 0, 0), "the first one is quicker");
    expect(!second_wins(100, 100, 0, 0), "neither is: no change");
    expect(second_wins(100, 90, 5000, trials / 2), "the quicker one was stopped in half of its blocks");
    expect(!second_wins(90, 100, -50, 5), "a few blocks were quick by luck");
}

// A way that is the quicker one, but not at the beginning of a turn; the other one is quicker there than afterwards.
void what_a_turn_begins_with_does_not_count() {
    using Settling = TwoWays<4, 4, 2>;
    Settling ways;
    std::string turns;
    for (size_t use = 0; !ways.decided(); ++use) {
        turns += ways.second() ? '2' : '1';
        ways.took(!ways.second(), Settling::Duration(1)); // another thread's, begun in the turn before
        const bool begins = use % 4 < 2;
        ways.took(ways.second(), Settling::Duration(ways.second() ? (begins ? 200 : 80) : (begins ? 50 : 100)));
    }
    expect(turns == "1111222211112222", "turns of four: " + turns);
    expect(ways.second() && turns.size() == Settling::uses, "the second one is quicker once it has begun");
}

// Transfers that take so long each, as many as `count`; how many of them went by two.
size_t go(TransferChoice &choice, size_t count, std::chrono::milliseconds by_one, std::chrono::milliseconds by_two) {
    size_t twos = 0;
    for (size_t i = 0; i < count; ++i) {
        const bool two = choice.by_two();
        twos += two ? 1 : 0;
        choice.took(two, size_t{128} << 20, two ? by_two : by_one);
    }
    return twos;
}

void transfers_go_the_quicker_way_and_it_is_looked_at_again() {
    using namespace std::chrono_literals;
    constexpr size_t trial = TransferChoice::Ways::uses;
    TransferChoice choice;
    expect(go(choice, trial, 20ms, 10ms) == trial / 2, "both ways take turns");
    expect(go(choice, TransferChoice::first_pause, 20ms, 10ms) == TransferChoice::first_pause, "then it is known");
    // Now it is the other way round.
    expect(go(choice, trial, 10ms, 20ms) == trial / 2, "they take turns again");
    expect(go(choice, 2 * TransferChoice::first_pause, 10ms, 20ms) == 0, "what has changed is noticed");
    size_t looks = 0;
    for (int i = 0; i < 100; ++i) looks += go(choice, TransferChoice::longest_pause + trial, 10ms, 20ms);
    expect(looks >= 98 * trial / 2 && looks <= 102 * trial / 2, "and is looked at for ever, more rarely: " + std::to_string(looks));
}

// As on one processor, or where the program may have no more threads.
void what_gets_no_second_thread_goes_by_one() {
    constexpr size_t trial = TransferChoice::Ways::uses;
    constexpr size_t others = trial - TransferChoice::Ways::in_a_row;
    // So many transfers with a second thread to be had, or not; how many of them asked for one.
    auto carried = [](TransferChoice &choice, size_t count, bool is_to_be_had) {
        size_t asked = 0;
        for (size_t i = 0; i < count; ++i) {
            choice.carry(size_t{128} << 20, [&](bool &by_two) {
                asked += by_two ? 1 : 0;
                by_two = by_two && is_to_be_had;
                return true;
            });
        }
        return asked;
    };
    TransferChoice choice;
    expect(carried(choice, trial, false) == others, "a second thread is asked for");
    expect(carried(choice, TransferChoice::first_pause, false) == 0, "and then no more");
    expect(carried(choice, trial, false) == others && carried(choice, TransferChoice::first_pause, false) == 0, "but later");

    TransferChoice now_and_then;
    carried(now_and_then, TransferChoice::Ways::in_a_row, true);
    for (size_t i = 0; i < TransferChoice::Ways::in_a_row - 1; ++i)
        expect(carried(now_and_then, others - 1, false) == others - 1 && carried(now_and_then, 1, true) == 1, "some say nothing");

    // There was one until it was known that two are quicker.
    TransferChoice no_more;
    go(no_more, trial, std::chrono::milliseconds(20), std::chrono::milliseconds(10));
    expect(carried(no_more, TransferChoice::first_pause - 1, false) == others, "what is known does not hold without one");
}

std::atomic<size_t> by_slow{0};
std::atomic<size_t> by_quick{0};

void slow_copy(uint8_t *to, const uint8_t *from, size_t size) {
    by_slow += size;
    std::memcpy(to, from, size);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    while (std::chrono::steady_clock::now() < until) continue;
}

void quick_copy(uint8_t *to, const uint8_t *from, size_t size) {
    by_quick += size;
    std::memcpy(to, from, size);
}

void all_is_copied_by_the_quicker_loop_in_the_end(QuickerCopy copies) {
    by_slow = by_quick = 0;
    auto copy = [&copies](uint8_t *to, const uint8_t *from, size_t size) { copies.copy(to, from, size); };
    constexpr size_t block = QuickerCopy::block;
    for (size_t size : {size_t{0}, size_t{1}, block - 1, block, block + 1, 7 * block + 13}) there_and_no_further(copy, size, 3, 28);
    for (size_t left = 2 * QuickerCopy::trials; left > 0; --left) there_and_no_further(copy, block, 0, 5);
    expect(by_slow >= QuickerCopy::trials * block && by_quick >= QuickerCopy::trials * block, "both were tried");
    const size_t slow = by_slow;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) threads.emplace_back([&] { there_and_no_further(copy, 9 * block + 1, 1, 0); });
    for (std::thread &thread : threads) thread.join();
    expect(by_slow == slow, "the slower one is used no more");
}

void the_quicker_loop_is_found_whichever_it_is() {
    all_is_copied_by_the_quicker_loop_in_the_end({slow_copy, quick_copy});
    all_is_copied_by_the_quicker_loop_in_the_end({quick_copy, slow_copy});
}

void several_threads_find_out_at_once() {
    QuickerCopy copies(slow_copy, quick_copy);
    auto copy = [&copies](uint8_t *to, const uint8_t *from, size_t size) { copies.copy(to, from, size); };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i) there_and_no_further(copy, 3 * QuickerCopy::block + 7, 1, 0);
        });
    for (std::thread &thread : threads) thread.join();
}

// A program's static object, which lives longer than what the library makes: it still copies. One that has not chosen yet has its
// loops in memory, as sanitizers see.
class CopiesAtExit {
  public:
    ~CopiesAtExit() {
        std::vector<uint8_t> from(size_t{64} << 10, 5);
        std::vector<uint8_t> to(from.size());
        bulk_copy(to.data(), from.data(), from.size());
        if (to != from) _exit(1);
    }
};

} // namespace

int main(int count, char **) {
    static CopiesAtExit late;
    if (count > 1) {
        there_and_no_further(chosen, 65536, 0, 0);
        return failures();
    }
    pages_of_the_same_place_in_the_emulators_table_collide();
    the_quicker_way_is_known_in_spite_of_noise();
    what_a_turn_begins_with_does_not_count();
    transfers_go_the_quicker_way_and_it_is_looked_at_again();
    what_gets_no_second_thread_goes_by_one();
    the_quicker_loop_is_found_whichever_it_is();
    several_threads_find_out_at_once();
    for (const CopyLoop &loop : copy_loops())
        for (size_t size : {0, 1, 7, 8, 31, 32, 63, 64, 65, 127, 128, 129, 511, 512, 1025, 65535, 65536, 65537, 131077})
            for (size_t at : {0, 1, 13}) there_and_no_further(loop.copy, size, at, 31 - at);
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
        threads.emplace_back([] {
            for (size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537}, size_t{300001}, size_t{1048583}, size_t{9000017}})
                for (size_t at : {0, 1, 13}) there_and_no_further(chosen, size, at, 31 - at);
        });
    }
    for (std::thread &thread : threads) thread.join();
    return failures();
}
