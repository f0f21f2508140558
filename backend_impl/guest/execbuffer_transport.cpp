#include "execbuffer_transport.hpp"

namespace apir::guest {

namespace {

using namespace std::chrono_literals;

// A worker without work mostly sleeps by then (5 ms at most: virgl/worker/wakefulness.hpp).
constexpr Clock::duration sleeps_after = 4ms;

} // namespace

Status ExecbufferTransport::submit(const uint8_t *command, size_t size, const Deadline &, OtherSide &other) {
    const Clock::duration since = Clock::now().time_since_epoch() - Clock::duration(last_reply_.load(std::memory_order_relaxed));
    other = since > sleeps_after ? OtherSide::carried_asleep : OtherSide::carried;
    return device_.submit(command, size);
}

uint32_t ExecbufferTransport::await(const std::atomic<uint32_t> &notify, const Deadline &until, Pace &pace, OtherSide other,
                                    const std::atomic<bool> &given_up) {
    uint32_t value = await_word(notify, until, pace, [&] { return given_up.load(); }, other);
    last_reply_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
    return value;
}

} // namespace apir::guest
