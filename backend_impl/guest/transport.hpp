// How a command gets to the host and how its reply is awaited.
//
// The command's bytes name the reply resource; the reply's first word there turns from 0 to another value when the reply
// is complete. All functions may be called by several threads at once, none holds a lock over a call.
// ExecbufferTransport is the one that every peer understands. RingTransport, a ring in shared memory, is negotiated.
#pragma once

#include "device.hpp"
#include "reply_wait.hpp"

namespace apir::guest {

class Transport {
  public:
    virtual ~Transport() = default;

    // Hands a complete command over, in order with the others of the same thread, and behind all that were handed over before
    // this was called. Waits for room until `until` at most, and says when there was none. What was not handed over, the host will not see.
    // What has to happen before its reply can come is in `other` then.
    virtual Status submit(const uint8_t *command, size_t size, const Deadline &until, OtherSide &other) = 0;

    // The reply's first word once it is not 0; 0 when `until` passed before, when nothing will come because the other side is
    // gone, or when somebody has set `given_up`. What the host wrote before it is visible to the caller then. `other` is what
    // submit() said of that command.
    virtual uint32_t await(const std::atomic<uint32_t> &notify, const Deadline &until, Pace &pace, OtherSide other,
                           const std::atomic<bool> &given_up) = 0;

    // Tells the other side again what it could not be told before, if there is something: to be called now and then by whoever waits otherwise than in
    // await(), which does so itself.
    virtual void remind() {}

    // Why no command will ever be answered again; nullptr while nothing is known against it.
    virtual const char *gone() const { return nullptr; }
};

} // namespace apir::guest
