#include "execbuffer_transport.hpp"

namespace apir::guest {

Status ExecbufferTransport::submit(const uint8_t *command, size_t size, Clock::time_point) { return device_.submit(command, size); }

uint32_t ExecbufferTransport::await(const std::atomic<uint32_t> &notify, Clock::time_point until, Pace &pace) {
    return await_word(notify, until, pace, [] { return false; });
}

} // namespace apir::guest
