// Commands through a ring in shared memory, which the host's worker looks at while there is work: no exit of the virtual
// machine, but for the doorbell when the worker sleeps. See wire/ring.hpp and protocol/RING.md.
#pragma once

#include <atomic>
#include <memory>

#include "apir_gen.hpp"
#include "ring.hpp"
#include "transport.hpp"

namespace apir::guest {

class RingTransport : public Transport {
  public:
    // Lays a ring out in a blob of its own; nullptr, with the cause in `error`, when there is no room for it. `type_offset` is
    // what this context adds to command types. The device outlives it.
    static std::unique_ptr<RingTransport> lay_out(Device &device, uint32_t type_offset, std::string &error);
    ~RingTransport() override;
    RingTransport(const RingTransport &) = delete;
    RingTransport &operator=(const RingTransport &) = delete;

    // What the host has to be asked before the first command.
    RingCreateRequest offer() const;

    Status submit(const uint8_t *command, size_t size, const Deadline &until, OtherSide &other) override;
    uint32_t await(const std::atomic<uint32_t> &notify, const Deadline &until, Pace &pace, OtherSide other,
                   const std::atomic<bool> &given_up) override;
    void remind() override {
        if (unrung_.load(std::memory_order_relaxed) && producer_.owes_doorbell()) ring_doorbell();
    }
    const char *gone() const override;

  private:
    RingTransport(Device &device, Blob blob, uint32_t type_offset);
    void ring_doorbell() noexcept;
    void not_rung(const char *why, bool tells) noexcept;
    static Status not_pushed(Push pushed, const char *gone, size_t size);
    Push push_later(const uint8_t *command, size_t size, const Deadline &until);

    Device &device_;
    Blob blob_;
    const uint32_t type_offset_;
    RingProducer producer_;
    std::atomic<bool> unrung_{false}; // the last doorbell could not be rung, as far as is known: who waits looks whether it is owed
    Pace room_; // how long it takes until a full ring has room
};

} // namespace apir::guest
