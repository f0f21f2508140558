// The host's part of a transfer through a pipe (protocol/PIPES.md).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

#include <pipe.hpp>

namespace apir::host {

// How much is carried in one go.
struct PipePieces {
    size_t least; // that is waited for, but at the area's end and the transfer's
    size_t most;
};

class PipeWork {
  public:
    // Carries `size` bytes between the pipe's area and the tensor, with `done` bytes of the transfer before them.
    using Carry = std::function<void(uint8_t *place, size_t done, size_t size)>;

    // How long a guest may leave the host with nothing to do: as long as a graph may take, for its virtual machine may be halted.
    static constexpr std::chrono::milliseconds usual_patience{graph_wait_ms};

    // `beats` is raised while the host waits for the guest: whoever watches over it must not end it for that.
    PipeWork(PipeEnd pipe, std::atomic<uint64_t> &beats, std::chrono::nanoseconds patience) : pipe_(pipe), beats_(beats), patience_(patience) {}

    // To the transfer's end. Throws Refusal when the guest gives it up, writes a word that cannot be, or does nothing for too long: a set has
    // then been made in part.
    void run(const PipePieces &pieces, const Carry &carry);

  private:
    // Bytes that may be carried now.
    size_t await(size_t least);
    void rest(std::chrono::nanoseconds waited);

    PipeEnd pipe_;
    std::atomic<uint64_t> &beats_;
    std::chrono::nanoseconds patience_;
};

} // namespace apir::host
