#include <algorithm>
#include <atomic>
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

template <typename Call> Timed timed_as_asked(const Request &request, Call call) {
    return timed_warm(request.number("warm", warm_rounds, 0), request.number("rounds", 100), call);
}

} // namespace

void empty_call(Subject &subject, const Request &request, Row &row) {
    row.samples(timed_as_asked(request, [&] { subject.ask_memory(); }));
}

void clear_call(Subject &subject, const Request &request, Row &row) {
    Buffer buffer = subject.buffer(small_buffer);
    row.samples(timed_as_asked(request, [&] { ggml_backend_buffer_clear(buffer.get(), 0); }));
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
    std::vector<uint64_t> calls(count);
    std::vector<uint64_t> longest(count);
    std::atomic<size_t> ready{0};
    std::atomic<bool> begun{false};
    std::atomic<bool> over{false};
    std::vector<std::thread> workers;
    for (size_t i = 0; i < count; ++i) {
        workers.emplace_back([&, i] {
            subject.ask_memory();
            ready.fetch_add(1);
            while (!begun.load()) std::this_thread::yield();
            uint64_t made = 0;
            uint64_t longest_ns = 0;
            for (; !over.load(std::memory_order_relaxed); ++made) {
                if (work_ns == 0) {
                    subject.ask_memory();
                    continue;
                }
                const uint64_t called = now_ns();
                subject.ask_memory();
                const uint64_t answered = now_ns();
                longest_ns = std::max(longest_ns, answered - called);
                while (now_ns() - answered < work_ns) {}
            }
            calls[i] = made;
            longest[i] = longest_ns;
        });
    }
    while (ready.load() < count) std::this_thread::yield();
    uint64_t start = now_ns();
    begun.store(true);
    std::this_thread::sleep_for(time);
    over.store(true);
    uint64_t taken = now_ns() - start;
    for (std::thread &worker : workers) worker.join();
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
