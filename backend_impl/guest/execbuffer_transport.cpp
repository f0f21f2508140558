#include "execbuffer_transport.hpp"

namespace apir::guest {

Status ExecbufferTransport::submit(const uint8_t *command, size_t size, const Deadline &) { return device_.submit(command, size); }

uint32_t ExecbufferTransport::await(const std::atomic<uint32_t> &notify, const Deadline &until, Pace &pace) {
    return await_word(notify, until, pace, [] { return false; });
}

} // namespace apir::guest
