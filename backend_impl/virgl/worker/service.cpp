#include "service.hpp"

#include <algorithm>
#include <ctime>
#include <sched.h>
#include <sys/prctl.h>
#include <utility>

#include <call_log.hpp>
#include <processors.hpp>

namespace apir::virgl {
namespace {

constexpr int looks_at_once = 20;
// A command without a ring needs a virtual processor, QEMU's main thread and the worker.
constexpr int processors_for_all = 3;

// A copy that takes so long is a piece of a large transfer.
constexpr uint64_t long_transfer_ns = 200'000;

// No longer than it has to be: by default the kernel may add as much again.
void take_nap(uint64_t ns) {
    constexpr unsigned long slack_ns = 1;
    static const bool exact [[maybe_unused]] = prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0) == 0;
    const timespec nap{0, static_cast<long>(ns)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
}

// What this thread has taken so far.
uint64_t processor_ns() {
    constexpr uint64_t ns_per_s = 1'000'000'000;
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<uint64_t>(time.tv_sec) * ns_per_s + static_cast<uint64_t>(time.tv_nsec);
}

} // namespace

Service::Service(QueueConsumer &queue, CommandRing &ring, Commands &commands, Presence &presence)
    : queue_(queue), ring_(ring), commands_(commands), presence_(presence) {
    const cpu_set_t allowed = allowed_processors();
    const int processors = CPU_COUNT(&allowed);
    // A host that does not tell how many it has, has more than fit the answer.
    few_processors_ = processors != 0 && processors < processors_for_all;
}

void Service::begin_command() {
    began_ns_ = monotonic_ns();
    wakefulness_.learn(began_ns_ - idle_since_ns_, std::exchange(slept_, false));
    presence_.at_work();
    wakefulness_.end_naps(std::exchange(naps_cost_ns_, 0));
    naps_began_ns_ = 0;
}

// The entry that woke the worker, or that came soon after the one that did.
void Service::note_waking(const Entry &entry) {
    const uint64_t now = monotonic_ns();
    wakefulness_.learn_waking(entry.submitted_ns - std::min(idle_since_ns_, entry.submitted_ns), now - entry.submitted_ns);
}

void Service::end_command() {
    idle_since_ns_ = monotonic_ns();
    wakefulness_.worked(idle_since_ns_ - began_ns_);
    long_transfer_ = commands_.moved_data() && idle_since_ns_ - began_ns_ >= long_transfer_ns;
}

bool Service::serve_queue() {
    const uint64_t position = queue_.position();
    bool served = false;
    Entry entry{};
    while (!queue_.closing() && queue_.take(entry, position)) {
        served = true;
        bool command = entry.kind == EntryKind::command;
        if (command && slept_) note_waking(entry);
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
    Wakefulness::Step step = wakefulness_.after(now - idle_since_ns_, naps_cost_ns_);
    if (ring_.is_open() && few_processors_ && long_transfer_) {
        step = wakefulness_.between_pieces(now - idle_since_ns_);
    } else if (ring_.is_open()) {
        if (step == Wakefulness::Step::nap && !presence_.was_last()) step = Wakefulness::Step::sleep;
        if (step == Wakefulness::Step::yield && few_processors_) step = wakefulness_.among_others(now, now - idle_since_ns_);
    } else {
        // A command of the queue comes by QEMU's main thread: that one has to run for it, beside the virtual processor, and where it has
        // to be woken the worker's naps save nothing.
        const bool awake = (step == Wakefulness::Step::spin || step == Wakefulness::Step::yield) && !few_processors_;
        step = awake ? Wakefulness::Step::yield : Wakefulness::Step::sleep;
    }
    switch (step) {
    case Wakefulness::Step::spin:
        for (int i = 0; i < looks_at_once && !queue_.available() && !ring_.available(); ++i) relax();
        return;
    case Wakefulness::Step::yield: {
        sched_yield();
        const uint64_t after = monotonic_ns();
        switch (wakefulness_.yielded(after, after - now, queue_.available() || ring_.available())) {
        case Wakefulness::Yielded::in_time: return;
        case Wakefulness::Yielded::step_aside:
            if (ring_.is_open()) step_aside();
            return;
        case Wakefulness::Yielded::doze: sleep(Wakefulness::doze_ns); return;
        }
        return;
    }
    case Wakefulness::Step::short_nap:
        take_nap(Wakefulness::short_nap_ns);
        wakefulness_.napped(monotonic_ns() - now, queue_.available() || ring_.available());
        return;
    case Wakefulness::Step::nap: nap(); return;
    case Wakefulness::Step::long_nap: take_nap(Wakefulness::long_nap_ns); return;
    case Wakefulness::Step::sleep: sleep(QueueConsumer::forever); return;
    }
}

void Service::nap() {
    if (naps_began_ns_ == 0) naps_began_ns_ = processor_ns();
    take_nap(Wakefulness::nap_ns);
    naps_cost_ns_ = processor_ns() - naps_began_ns_;
}

// Until the bell, or for so long.
void Service::sleep(uint64_t at_most_ns) {
    ring_.announce_sleep();
    slept_ = queue_.sleep([this] { return ring_.may_sleep(); }, at_most_ns);
    ring_.awake();
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
