#include "execbuffer_transport.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

// A worker without work mostly sleeps by then (5 ms at most: virgl/worker/wakefulness.hpp).
constexpr Clock::duration sleeps_after = 4ms;
// What is longer in coming has the worker compute. The quickest replies by EXECBUFFER take an emulated guest 35 to 100 µs.
constexpr Clock::duration quick_reply = 150us;

} // namespace

// What others do to the same counts meanwhile is company, too.
bool Company::alone() {
    // Its address is the thread's own for as long as that lives.
    static thread_local char self;
    if (last_thread_.load(std::memory_order_relaxed) != &self) {
        const bool first = last_thread_.exchange(&self, std::memory_order_relaxed) == nullptr;
        in_a_row_.store(first ? alone_after : 0, std::memory_order_relaxed);
    }
    const int in_a_row = in_a_row_.load(std::memory_order_relaxed);
    if (in_a_row >= alone_after) return true;
    in_a_row_.store(in_a_row + 1, std::memory_order_relaxed);
    return false;
}

// To share an interrupt takes the submitting thread a fence, in an emulated guest ten microseconds, a fifth of a call. One of its own is mostly taken by a
// processor that nobody needs at that moment, so whoever waits for a quick reply alone is better off with that. But several threads need all
// processors, a single processor has to take each interrupt itself, and while data is copied or a graph computed the host's worker needs the real
// processor of the one that would take it.
Interrupt ExecbufferTransport::interrupt_of(const OutgoingCommand &command) {
    const bool alone = company_.alone();
    return alone && !one_processor_ && !command.moves_data && command.pace.expected() < quick_reply ? Interrupt::own : Interrupt::shared;
}

Status ExecbufferTransport::submit(const OutgoingCommand &command, const Deadline &, OtherSide &other) {
    const Clock::duration since = Clock::now().time_since_epoch() - Clock::duration(last_reply_.load(std::memory_order_relaxed));
    other = since > sleeps_after ? OtherSide::carried_asleep : OtherSide::carried;
    return device_.submit(command.bytes, command.size, interrupt_of(command));
}

uint32_t ExecbufferTransport::await(const std::atomic<uint32_t> &notify, const Deadline &until, Pace &pace, OtherSide other,
                                    const std::atomic<bool> &given_up) {
    uint32_t value = await_word(notify, until, pace, [&] { return given_up.load(); }, other);
    last_reply_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    return value;
}

} // namespace apir::guest
