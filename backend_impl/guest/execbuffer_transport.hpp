// One EXECBUFFER submission per command; replies are polled in their slots.
#pragma once

#include "transport.hpp"

namespace apir::guest {

class ExecbufferTransport : public Transport {
  public:
    explicit ExecbufferTransport(Device &device) : device_(device) {}

    Status submit(const uint8_t *command, size_t size, const Deadline &until, OtherSide &other) override;
    uint32_t await(const std::atomic<uint32_t> &notify, const Deadline &until, Pace &pace, OtherSide other,
                   const std::atomic<bool> &given_up) override;

  private:
    Device &device_;
    std::atomic<Clock::rep> last_reply_{0};
};

} // namespace apir::guest
