// Copied transfers through a pipe (protocol/PIPES.md): host and guest copy at the same time, and one command does for all of it.
#pragma once

#include <functional>

#include "remote_buffer.hpp"

namespace apir::guest {

// Less is not worth it: there is little to be copied at the same time.
inline constexpr size_t least_piped = size_t{128} << 10;
// Nor is this, of what goes out by EXECBUFFER, where nobody awaits a command of its own: the host carries that out while the guest fills the next one.
inline constexpr size_t least_piped_out_by_ioctl = (size_t{2} << 20) + 1;
// Of what goes out, more is nowhere in the guest's caches: two threads that copy in large pieces get more out of memory than one. By EXECBUFFER, where
// those wait without keeping each other from sending, of less already.
inline constexpr size_t most_piped_out = size_t{128} << 20;
inline constexpr size_t most_piped_out_by_ioctl = size_t{48} << 20;

struct PipedTransfer {
    bool in; // to the guest
    uint64_t buffer; // handle
    WideTensorRecord tensor;
    size_t offset; // within the tensor
    size_t size;
    const void *memory; // that the guest copies from or to; nullptr: none
    Whereabouts whereabouts; // of the buffer
};

struct Moved {
    size_t bytes; // from the transfer's beginning on
    bool well; // false: the next ones could not be moved, and the cause has been logged
};

// Carries `size` bytes between the program's memory and `place`, with `done` bytes of the transfer before them.
using CarryPiece = std::function<void(uint8_t *place, size_t done, size_t size)>;

// All of it; or less with `well` where the next call could not be begun without awaiting another one first, or there is no data slot: then the
// rest goes another way.
Moved move_through_pipe(Session &session, const PipedTransfer &transfer, const CarryPiece &carry);

} // namespace apir::guest
