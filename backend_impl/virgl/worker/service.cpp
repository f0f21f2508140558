#include "service.hpp"

#include <sched.h>

#include <call_log.hpp>

namespace apir::virgl {
namespace {

constexpr int looks_at_once = 20;

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

} // namespace

void Service::begin_command() { wakefulness_.learn(monotonic_ns() - idle_since_ns_); }

void Service::end_command() { idle_since_ns_ = monotonic_ns(); }

bool Service::serve_queue() {
    const uint64_t position = queue_.position();
    bool served = false;
    Entry entry{};
    while (!queue_.closing() && queue_.take(entry, position)) {
        served = true;
        bool command = entry.kind == EntryKind::command;
        if (command) begin_command();
        commands_.take(entry);
        queue_.done();
        if (command) end_command();
    }
    return served;
}

bool Service::serve_ring() {
    Entry entry{};
    if (!ring_.take(entry)) return false;
    begin_command();
    queue_.begin();
    serve_queue();
    if (!queue_.closing()) commands_.take(entry);
    queue_.finish();
    end_command();
    return true;
}

void Service::rest() {
    const uint64_t now = monotonic_ns();
    Wakefulness::Step step = wakefulness_.after(now - idle_since_ns_);
    // A command of the queue comes by QEMU's main thread: that one has to run for it.
    if (step == Wakefulness::Step::spin && !ring_.is_open()) step = Wakefulness::Step::yield;
    if (step == Wakefulness::Step::yield && wakefulness_.crowded(now)) step = Wakefulness::Step::sleep;
    switch (step) {
    case Wakefulness::Step::spin:
        for (int i = 0; i < looks_at_once && !queue_.available() && !ring_.available(); ++i) relax();
        return;
    case Wakefulness::Step::yield: {
        sched_yield();
        const uint64_t after = monotonic_ns();
        wakefulness_.yielded(after, after - now);
        return;
    }
    case Wakefulness::Step::sleep:
        ring_.announce_sleep();
        queue_.sleep([this] { return ring_.may_sleep(); });
        ring_.awake();
        return;
    }
}

void Service::run() {
    idle_since_ns_ = monotonic_ns();
    while (!queue_.closing()) {
        bool queue_served = serve_queue();
        bool ring_served = serve_ring();
        if (!queue_served && !ring_served) rest();
    }
}

} // namespace apir::virgl
