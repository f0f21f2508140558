// Work by two threads: each piece once, whichever of them gets on, and all of it where there is no second thread to be had. And what is copied so.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <dlfcn.h>
#include <memory>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "guest/forked.hpp"
#include "guest/transfer_choice.hpp"
#include "guest/two_threads.hpp"
#include "guest_bench.hpp"
#include "wire/processors.hpp"

using namespace apir::guest;
using namespace apir::guest::test;

namespace {

std::atomic<size_t> begun{0}; // threads since
std::atomic<size_t> alive{0}; // of them, and of those before
std::atomic<bool> refused{false};
std::atomic<bool> held{false}; // before they do anything
std::atomic<bool> one_more{false}; // processor, which is none

struct Body {
    void *(*body)(void *);
    void *about;
};

void *live(void *about) {
    const std::unique_ptr<Body> one(static_cast<Body *>(about));
    while (held) std::this_thread::yield();
    void *const result = one->body(one->about);
    --alive;
    return result;
}

} // namespace

// Sanitizers' own, which has to know of every thread.
extern "C" __attribute__((weak)) int __interceptor_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

// In place of the C library's, for all of this program.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *plan, void *(*body)(void *), void *about) {
    static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    if (refused) return EAGAIN;
    ++begun;
    ++alive;
    return (__interceptor_pthread_create != nullptr ? __interceptor_pthread_create : real)(thread, plan, live, new Body{body, about});
}

extern "C" __attribute__((visibility("default"))) int sched_getaffinity(pid_t thread, size_t size, cpu_set_t *set) {
    static const auto real = reinterpret_cast<decltype(&sched_getaffinity)>(dlsym(RTLD_NEXT, "sched_getaffinity"));
    const int error = real(thread, size, set);
    if (error == 0 && one_more) CPU_SET_S(8 * size - 1, size, set);
    return error;
}

namespace {

using namespace std::chrono_literals;

const cpu_set_t processors = apir::allowed_processors();
const bool has_two = CPU_COUNT(&processors) > 1;

void each_piece_is_taken_once() {
    for (size_t count : {0, 1, 2, 3, 8})
        for (size_t by_second = 0; by_second <= count; ++by_second) {
            TwoEnds pieces(count);
            std::vector<int> taken(count);
            size_t piece = 0;
            for (size_t mine = 0; mine < by_second; ++mine) {
                expect(pieces.take(true, mine, piece) && piece == count - 1 - mine, "the second one begins at the end");
                if (piece < count) ++taken[piece];
            }
            size_t mine = 0;
            while (pieces.take(false, mine, piece)) {
                expect(piece == mine++, "the first one begins at the beginning");
                if (piece < count) ++taken[piece];
            }
            expect(mine == count - by_second && taken == std::vector<int>(count, 1), "each piece once");
            expect(!pieces.take(true, by_second, piece) && !pieces.take(false, mine, piece), "there is no more");
        }
}

// Whether there are no more threads, after a moment: one that nobody awaits may have to end yet, or even to begin.
bool are_soon(size_t count) {
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (alive > count && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return alive <= count;
}

// By two threads at the same time, where there may be two: the first one begins when the second one has. Whether there was one.
template <typename Work> bool at_once(Work work) {
    std::atomic<bool> is_there{!has_two || refused};
    return by_two_threads(true, [&](bool second) {
        if (second) is_there = true;
        while (!is_there) std::this_thread::yield();
        work(second);
    });
}

void each_piece_is_taken_once_whoever_is_quicker() {
    constexpr size_t count = 100000;
    for (int round = 0; round < 20; ++round) {
        TwoEnds pieces(count);
        std::vector<std::atomic<int>> taken(count);
        at_once([&](bool second) {
            size_t piece = 0;
            for (size_t mine = 0; pieces.take(second, mine, piece); ++mine) ++taken.at(piece);
        });
        expect(std::all_of(taken.begin(), taken.end(), [](const auto &times) { return times == 1; }), "each piece once, by two threads");
    }
}

void a_second_thread_does_its_part_where_it_is_wanted_and_to_be_had() {
    for (bool wanted : {false, true})
        for (bool none_left : {false, true}) {
            std::atomic<int> firsts{0}, seconds{0};
            expect(are_soon(0), "one is left");
            begun = 0, refused = none_left;
            const bool both = wanted && !none_left && has_two;
            const std::thread::id here = std::this_thread::get_id();
            const bool were_two = by_two_threads(wanted, [&](bool second) {
                expect((std::this_thread::get_id() == here) != second, "the calling thread is the first one");
                ++(second ? seconds : firsts);
                while (both && seconds == 0) std::this_thread::yield();
            });
            refused = false;
            expect(firsts == 1 && seconds == (both ? 1 : 0) && begun == (both ? 1U : 0U), "a second thread where there should be none, or none");
            expect(were_two == both, "told otherwise");
        }
}

void there_is_none_where_the_thread_may_use_one_processor() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &one);
    expect(sched_setaffinity(0, sizeof one, &one) == 0, "one processor");
    expect(!by_two_threads(true, [](bool) {}), "two threads on one processor");
    sched_setaffinity(0, sizeof processors, &processors);
}

bool is_blocked(int signal) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    return sigismember(&blocked, signal) == 1;
}

void the_programs_signals_are_for_its_own_threads() {
    at_once([](bool second) {
        for (int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGPROF}) expect(is_blocked(signal) == second, "handled by the second thread");
        for (int fault : {SIGSEGV, SIGBUS, SIGFPE}) expect(!is_blocked(fault), "a fault that ends the program whatever it does about it");
    });
    expect(!is_blocked(SIGINT) && !is_blocked(SIGPROF), "blocked for good");
}

void what_the_first_throws_arrives_when_the_second_has_ended() {
    std::atomic<bool> ended{false};
    bool caught = false;
    try {
        at_once([&](bool second) {
            if (!second) throw std::bad_alloc();
            std::this_thread::sleep_for(20ms);
            ended = true;
        });
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    expect(caught && ended == has_two, "thrown too early, or not at all");
}

// Second threads stay for so long while it lives, of which there were none before.
class Staying {
  public:
    explicit Staying(std::chrono::milliseconds stays) : before_(SecondThread::stays.exchange(stays)) {
        expect(are_soon(0), "a thread is there already");
        begun = 0;
    }
    ~Staying() {
        // Who begins to wait now does not.
        SecondThread::stays = before_;
        at_once([](bool) {});
        expect(are_soon(0), "a thread is left that nobody wants");
    }
    Staying(const Staying &) = delete;
    Staying &operator=(const Staying &) = delete;

  private:
    const std::chrono::milliseconds before_;
};

void one_thread_stays_for_the_next_ones() {
    const Staying staying(60s);
    for (int round = 0; round < 50; ++round) at_once([](bool) {});
    expect(begun == (has_two ? 1U : 0U), "begun again, with one that does nothing");
}

void of_several_one_stays() {
    if (!has_two) return;
    constexpr size_t several = 3;
    const Staying staying(60s);
    for (int round = 0; round < 3; ++round) {
        std::atomic<size_t> there{0};
        begun = 0;
        std::vector<std::thread> users;
        for (size_t user = 0; user < several; ++user)
            users.emplace_back([&] {
                const bool two = at_once([&](bool) {
                    ++there;
                    while (there < 2 * several) std::this_thread::yield();
                });
                expect(two, "not for all");
            });
        for (std::thread &user : users) user.join();
        expect(begun == 2 * several - (round == 0 ? 0 : 1), "more begun than needed, or one for two at a time");
        expect(are_soon(1), "more than one stays");
    }
}

void it_ends_when_nobody_wants_it() {
    const Staying staying(50ms);
    at_once([](bool) {});
    expect(are_soon(0), "it stays for longer");
    at_once([](bool) {});
    expect(begun == (has_two ? 2U : 0U), "none is begun in its place");
}

void whoever_runs_otherwise_gets_another_one() {
    if (!has_two) return;
    enum class Otherwise { processors, nice, policy };
    for (Otherwise way : {Otherwise::processors, Otherwise::nice, Otherwise::policy}) {
        const Staying staying(60s);
        auto twice = [] {
            for (int use = 0; use < 2; ++use) expect(at_once([](bool) {}), "none");
        };
        twice();
        one_more = way == Otherwise::processors;
        if (one_more) twice();
        else
            std::thread([&] {
                const sched_param ordinary{};
                if (way == Otherwise::nice) setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1);
                else expect(sched_setscheduler(0, SCHED_BATCH, &ordinary) == 0, "another policy");
                twice();
            }).join();
        one_more = false;
        expect(begun == (way == Otherwise::processors ? 2 : 3), "one that does not run as the caller does, or one too many");
        expect(are_soon(1), "both stay");
    }
}

// Who has done all by itself does not wait for a thread that has not begun, and finds it again.
void who_is_quick_waits_for_nobody() {
    if (!has_two) return;
    const Staying staying(60s);
    held = true;
    std::atomic<int> seconds{0};
    for (int round = 0; round < 2; ++round) expect(by_two_threads(true, [&](bool second) { seconds += second ? 1 : 0; }), "none");
    held = false;
    expect(seconds == 0, "begun, or waited for");
    at_once([&](bool second) { seconds += second ? 1 : 0; });
    expect(seconds == 1 && begun == 1, "begun later, or not found again");
}

void what_was_not_begun_never_is() {
    const Staying staying(60s);
    auto is_over = std::make_shared<std::atomic<int>>(0);
    for (int round = 0; round < 5000; ++round) {
        by_two_threads(true, [is_over, round](bool second) {
            if (!second && round % 3 == 0) std::this_thread::yield();
            if (second) expect(*is_over == round, "the work of one that has returned");
        });
        ++*is_over;
    }
    expect(begun == (has_two ? 1U : 0U), "begun again");
}

// Of two at a time.
void threads_that_are_not_needed_do_not_pile_up() {
    if (!has_two) return;
    for (bool before_they_begin : {true, false}) {
        const Staying staying(60s);
        held = before_they_begin;
        for (int round = 0; round < 200; ++round) {
            const SecondThread one(true, [] {});
            const SecondThread other(true, [] {});
            if (round % 3 == 0) std::this_thread::yield();
        }
        held = false;
        expect(are_soon(1), std::to_string(alive) + " stay");
    }
}

void a_forked_process_has_none() {
    const Staying staying(60s);
    watch_for_forks();
    at_once([](bool) {});
    const pid_t child = fork();
    if (child == 0) _exit(by_two_threads(true, [](bool) {}) ? 1 : 0);
    int status = -1;
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "waits for a thread that is the parent's");
    expect(at_once([](bool) {}) || !has_two, "and the parent has none");
}

// The child of a thread that forks while another one works with it has that one's work to wait for, and nobody who would ever end it.
void who_forks_amid_them_waits_for_nobody() {
    if (!has_two) return;
    const Staying staying(60s);
    watch_for_forks();
    std::atomic<bool> is_over{false};
    pid_t child = -1;
    int status = -1;
    at_once([&](bool second) {
        while (second && !is_over) std::this_thread::yield();
        if (second) return;
        child = fork();
        if (child == 0) alarm(10);
        else waitpid(child, &status, 0);
        is_over = true;
    });
    if (child == 0) _exit(0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "waits for a thread's work that is the parent's");
}

std::vector<uint8_t> counted(size_t size) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251 + i / 65536);
    return bytes;
}

// What a copy that asks for two threads, when it is their turn, begins.
void expect_begun(bool in, bool large, bool had_turn, const std::string &what) {
    const size_t expected = large && had_turn && !refused && has_two ? 1 : 0;
    expect(begun == expected, what + (in ? ", in: " : ", out: ") + std::to_string(begun) + " threads begun");
}

void copy_there_and_back(Bench &bench, size_t size, bool none_left) {
    const size_t others = alive;
    // Before and behind what is written.
    constexpr size_t edge = 32;
    constexpr uint8_t untouched = 0xee;
    const bool large = size >= least_by_two_in_blobs;
    const std::string what = std::to_string(size) + " bytes";
    Context memory = context();
    Buffer buffer = bench.buffer(size + 2 * edge);
    ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, static_cast<int64_t>(size + 2 * edge)), 0);
    const std::vector<uint8_t> sent = counted(size);
    std::vector<uint8_t> back(size + 2 * edge);
    ggml_backend_buffer_clear(buffer.get(), untouched);
    begun = 0, refused = none_left;
    bool had_turn = TransferChoice::in_blobs(false, size).by_two();
    ggml_backend_tensor_set(tensor, sent.data(), edge, size);
    expect_begun(false, large, had_turn, what);
    expect(are_soon(others), "one stays");
    begun = 0, had_turn = TransferChoice::in_blobs(true, size).by_two();
    ggml_backend_tensor_get(tensor, back.data() + edge, edge, size);
    expect_begun(true, large, had_turn, what);
    expect(are_soon(others), "one stays");
    expect(std::equal(sent.begin(), sent.end(), back.begin() + edge), what + ": other bytes");
    expect(std::count(back.begin(), back.begin() + edge, 0) == edge && std::count(back.end() - edge, back.end(), 0) == edge, what + ": read beside them");
    refused = false;
    ggml_backend_tensor_get(tensor, back.data(), 0, edge);
    ggml_backend_tensor_get(tensor, back.data() + edge + size, edge + size, edge);
    expect(std::count(back.begin(), back.begin() + edge, untouched) == edge && std::count(back.end() - edge, back.end(), untouched) == edge,
           what + ": written beside them");
}

void large_copies_to_and_from_blobs_go_by_one_and_by_two_in_turns() {
    ScriptedHost host;
    host.takes_pointers = true;
    Bench bench(host);
    copy_there_and_back(bench, least_by_two_in_blobs - 1, false);
    for (bool in : {false, true}) expect(!TransferChoice::in_blobs(in, least_by_two_in_blobs).by_two(), "by one first");
    for (bool two : {false, true})
        for (size_t use = 0; use < TransferChoice::Ways::in_a_row; ++use) {
            for (bool in : {false, true}) expect(TransferChoice::in_blobs(in, least_by_two_in_blobs).by_two() == two, "in turns");
            copy_there_and_back(bench, least_by_two_in_blobs + use % 2 * 12345, false);
            // Which says nothing of two.
            if (two && use == 1) copy_there_and_back(bench, least_by_two_in_blobs, true);
        }
    for (bool in : {false, true}) expect(TransferChoice::in_blobs(in, least_by_two_in_blobs).by_two() != has_two, "by one again, when as many went by two");
    expect(host.sent(apir::Call::buffer_set_tensor).empty() && host.sent(apir::Call::buffer_get_tensor).empty(), "the data went the other way");
}

void each_size_of_those_has_a_choice_of_its_own() {
    constexpr size_t mib = size_t{1} << 20;
    constexpr size_t different[] = {8 * mib, 16 * mib, 32 * mib, 64 * mib};
    for (bool in : {false, true})
        for (size_t size : different) {
            TransferChoice *const choice = &TransferChoice::in_blobs(in, size);
            expect(choice == &TransferChoice::in_blobs(in, size + 4 * mib) && choice != &TransferChoice::in_blobs(!in, size), "one for each direction");
            for (size_t other : different) expect((choice == &TransferChoice::in_blobs(in, other)) == (size == other), "one for each size");
            const bool is_largest = size == 64 * mib;
            expect((choice == &TransferChoice::in_blobs(in, 2 * size)) == is_largest && (choice == &TransferChoice::in_blobs(in, 8 * size)) == is_largest,
                   "one for all of the largest");
        }
}

void what_surely_goes_by_one_or_by_two_is_not_found_out() {
    constexpr size_t most = surely_out_by_one + 4096;
    for (bool pipes : {false, true}) {
        expect(!is_found_out(false, surely_out_by_one, pipes, most) && is_found_out(false, surely_out_by_one + 1, pipes, most), "out: little goes by one");
        expect(is_found_out(false, most, pipes, most) && !is_found_out(false, most + 1, pipes, most), "out: what no pipe takes goes by two");
        const size_t surely_in = pipes ? surely_in_by_one : surely_in_by_one_without_pipe;
        expect(!is_found_out(true, surely_in, pipes, 0) && is_found_out(true, surely_in + 1, pipes, 0), "in: little goes by one");
    }
}

// By a host of protocol 0.2 alone, where reading so much may go by either.
void copied_transfers_that_got_no_second_thread_say_nothing_of_two() {
    constexpr size_t size = size_t{32} << 20;
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    Buffer buffer = bench.buffer(size);
    ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, static_cast<int64_t>(size)), 0);
    std::vector<uint8_t> back(size);
    TransferChoice &choice = TransferChoice::of(true);
    const size_t others = alive;
    auto read_in_a_row = [&] {
        for (size_t use = 0; use < TransferChoice::Ways::in_a_row; ++use) {
            ggml_backend_tensor_get(tensor, back.data(), 0, size);
            expect(are_soon(others), "one stays");
        }
    };
    begun = 0;
    read_in_a_row();
    expect(choice.by_two() && begun == 0, "by one, and then it is two threads' turn");
    refused = true;
    read_in_a_row();
    refused = false;
    expect(choice.by_two() && begun == 0, "none of them was by two");
    read_in_a_row();
    expect(choice.by_two() != has_two && begun == (has_two ? TransferChoice::Ways::in_a_row : 0U), "by two, and then it is one's turn");
    expect(!host.sent(apir::Call::buffer_get_tensor).empty(), "the data went the other way");
}

} // namespace

int main() {
    SecondThread::stays = 0ms;
    each_piece_is_taken_once();
    each_piece_is_taken_once_whoever_is_quicker();
    a_second_thread_does_its_part_where_it_is_wanted_and_to_be_had();
    there_is_none_where_the_thread_may_use_one_processor();
    the_programs_signals_are_for_its_own_threads();
    what_the_first_throws_arrives_when_the_second_has_ended();
    one_thread_stays_for_the_next_ones();
    of_several_one_stays();
    it_ends_when_nobody_wants_it();
    whoever_runs_otherwise_gets_another_one();
    who_is_quick_waits_for_nobody();
    what_was_not_begun_never_is();
    threads_that_are_not_needed_do_not_pile_up();
    a_forked_process_has_none();
    who_forks_amid_them_waits_for_nobody();
    expect(are_soon(0), "a thread is left");
    large_copies_to_and_from_blobs_go_by_one_and_by_two_in_turns();
    each_size_of_those_has_a_choice_of_its_own();
    what_surely_goes_by_one_or_by_two_is_not_found_out();
    copied_transfers_that_got_no_second_thread_say_nothing_of_two();
    return failures();
}
