#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <sys/resource.h>
#include <thread>

#include "clock.hpp"
#include "measures.hpp"

namespace apir::bench {

namespace {

constexpr size_t small_buffer = 256;
constexpr size_t warm_rounds = 20;
// After these a pause is one in steady work.
constexpr size_t steady_rounds = 100;

uint64_t processor_ns() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    auto ns = [](const timeval &time) {
        return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_usec) * 1000u;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
}

template <typename Call, typename... Change> Timed timed_as_asked(const Request &request, Call call, Change... before_last) {
    return timed_warm(request.number("warm", warm_rounds, 0), request.number("rounds", 100), call, before_last...);
}

// What one of several threads did.
struct Made {
    uint64_t calls = 0;
    uint64_t longest_ns = 0;
    std::exception_ptr failure;
};

// By which several threads begin and stop together.
struct Turnstile {
    std::atomic<size_t> ready{0};
    std::atomic<bool> begun{false};
    std::atomic<bool> over{false};
};

// Calls until it is over; with `work_ns` each is timed, and followed by so much work.
void call_on(const Subject &subject, uint64_t work_ns, const std::atomic<bool> &over, Made &made) {
    for (; !over.load(std::memory_order_relaxed); ++made.calls) {
        if (work_ns == 0) {
            subject.ask_memory();
            continue;
        }
        const uint64_t called = now_ns();
        subject.ask_memory();
        const uint64_t answered = now_ns();
        made.longest_ns = std::max(made.longest_ns, answered - called);
        while (now_ns() - answered < work_ns) {}
    }
}

// One of the threads; if it fails, it is over for all.
Made calls_of(const Subject &subject, uint64_t work_ns, Turnstile &turnstile) {
    Made made;
    try {
        subject.ask_memory();
        turnstile.ready.fetch_add(1);
        while (!turnstile.begun.load()) std::this_thread::yield();
        call_on(subject, work_ns, turnstile.over, made);
    } catch (...) {
        made.failure = std::current_exception();
        turnstile.over.store(true);
    }
    return made;
}

} // namespace

void empty_call(Subject &subject, const Request &request, Row &row) {
    row.samples(timed_as_asked(request, [&] { subject.ask_memory(); }));
}

void clear_call(Subject &subject, const Request &request, Row &row) {
    ggml_tensor tensor;
    Buffer buffer = subject.place_bytes(tensor, small_buffer);
    uint8_t value = 0;
    row.samples(timed_as_asked(request, [&] { ggml_backend_buffer_clear(buffer.get(), value); }, [&] { value = 1; }));
    std::array<uint8_t, small_buffer> bytes{};
    ggml_backend_tensor_get(&tensor, bytes.data(), 0, bytes.size());
    for (uint8_t byte : bytes)
        if (byte != value) throw Failure("the buffer was not cleared");
}

void alloc_free(Subject &subject, const Request &request, Row &row) {
    const size_t size = request.number("size", 65536);
    row.samples(timed_as_asked(request, [&] { subject.buffer(size); }));
}

void after_pause(Subject &subject, const Request &request, Row &row) {
    const auto pause = std::chrono::milliseconds(request.number("pause_ms", 1000));
    std::vector<uint64_t> samples;
    for (size_t i = 0; i < steady_rounds; ++i) subject.ask_memory();
    for (size_t left = request.number("rounds", 1); left > 0; --left) {
        std::this_thread::sleep_for(pause);
        samples.push_back(timed(1, [&] { subject.ask_memory(); }).ns.front());
    }
    row.numbers("ns", samples);
}

void threads(Subject &subject, const Request &request, Row &row) {
    const size_t count = request.number("threads", 1);
    const auto time = std::chrono::milliseconds(request.number("ms", 200));
    const uint64_t work_ns = request.number("work_us", 0, 0) * 1000;
    std::vector<Made> made(count);
    Turnstile turnstile;
    std::vector<std::thread> workers;
    for (Made &one : made) workers.emplace_back([&] { one = calls_of(subject, work_ns, turnstile); });
    while (turnstile.ready.load() < count && !turnstile.over.load()) std::this_thread::yield();
    uint64_t start = now_ns();
    turnstile.begun.store(true);
    std::this_thread::sleep_for(time);
    turnstile.over.store(true);
    uint64_t taken = now_ns() - start;
    for (std::thread &worker : workers) worker.join();
    std::vector<uint64_t> calls;
    std::vector<uint64_t> longest;
    for (const Made &one : made) {
        if (one.failure) std::rethrow_exception(one.failure);
        calls.push_back(one.calls);
        longest.push_back(one.longest_ns);
    }
    row.numbers("calls", calls).number("ns", taken);
    if (work_ns > 0) row.numbers("longest_ns", longest);
}

void idle(Subject &subject, const Request &request, Row &row) {
    for (size_t i = 0; i < warm_rounds; ++i) subject.ask_memory();
    uint64_t before = processor_ns();
    uint64_t start = now_ns();
    std::this_thread::sleep_for(std::chrono::milliseconds(request.number("ms", 1000)));
    row.number("cpu_ns", processor_ns() - before).number("ns", now_ns() - start);
}

} // namespace apir::bench
