// One EXECBUFFER submission per command; replies are polled in their slots.
#pragma once

#include <thread>

#include "transport.hpp"

namespace apir::guest {

// Whether one thread alone submits. Any number of them.
class Company {
  public:
    // The calling thread submits. Whether nobody else did among the last `alone_after` times.
    bool alone();

    static constexpr int alone_after = 64;

  private:
    std::atomic<const void *> last_thread_{nullptr};
    std::atomic<int> in_a_row_{0};
};

class ExecbufferTransport : public Transport {
  public:
    // `processors`: of the guest's.
    explicit ExecbufferTransport(Device &device, unsigned processors = std::thread::hardware_concurrency())
        : device_(device), one_processor_(processors == 1) {}

    Status submit(const OutgoingCommand &command, const Deadline &until, OtherSide &other) override;
    uint32_t await(const std::atomic<uint32_t> &notify, const Deadline &until, Pace &pace, OtherSide other,
                   const std::atomic<bool> &given_up) override;

  private:
    Interrupt interrupt_of(const OutgoingCommand &command);

    Device &device_;
    const bool one_processor_;
    Company company_;
    std::atomic<Clock::rep> last_reply_{0};
};

} // namespace apir::guest
