// The host's part of a transfer through a pipe (protocol/PIPES.md).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include <pipe.hpp>

namespace apir::host {

// Whom a wait for the guest concerns.
struct PipeWatch {
    std::atomic<uint64_t> &beats; // raised while the host waits: whoever watches over it must not end it for that
    const std::atomic<uint32_t> &ending; // not 0 when the guest's context is to end
    std::chrono::nanoseconds patience; // for all waits of a call together
};

// How much is carried in one go.
struct PipePieces {
    size_t least; // that is waited for, but at the area's end and the transfer's
    size_t most;
};

class PipeWork {
  public:
    // Carries `size` bytes between the pipe's area and the tensor, with `done` bytes of the transfer before them.
    using Carry = std::function<void(uint8_t *place, size_t done, size_t size)>;
    // What there is to do about what was carried, when the guest has been told of it: it is at that meanwhile.
    using Told = std::function<void(uint8_t *place, size_t size)>;

    // How long a guest may leave the host with nothing to do: as long as a graph may take, for its virtual machine may be halted.
    static constexpr std::chrono::milliseconds usual_patience{graph_wait_ms};

    PipeWork(PipeEnd pipe, PipeWatch watch) : pipe_(pipe), watch_(watch) {}

    // To the transfer's end. Throws Refusal when the guest gives it up, writes a word that cannot be, does nothing for too long, or has
    // ended: a set has then been made in part.
    void run(const PipePieces &pieces, const Carry &carry, const Told &told = {});

  private:
    // Bytes that may be carried now.
    size_t await(size_t least);
    // When nothing has happened for so long.
    void rest(std::chrono::nanoseconds idle);

    PipeEnd pipe_;
    PipeWatch watch_;
    std::chrono::nanoseconds waited_{0}; // for pieces that had come
};

} // namespace apir::host
