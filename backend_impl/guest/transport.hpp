// How a command gets to the host and how its reply is awaited.
//
// The command's bytes name the reply resource; the reply's first word there turns from 0 to another value when the reply
// is complete. Both functions may be called by several threads at once, none holds a lock over a call.
// ExecbufferTransport is the one that every peer understands. Others (a ring in shared memory) can be negotiated; they
// replace submit, and where they learn of replies in another way, await.
#pragma once

#include "device.hpp"
#include "reply_wait.hpp"

namespace apir::guest {

class Transport {
  public:
    virtual ~Transport() = default;

    // Hands a complete command over, in order with the others of the same thread.
    virtual Status submit(const uint8_t *command, size_t size) = 0;

    // The reply's first word once it is not 0; 0 when `until` passed before. What the host wrote before it is visible
    // to the caller then.
    virtual uint32_t await(const std::atomic<uint32_t> &notify, Clock::time_point until) = 0;
};

} // namespace apir::guest
