// How a copied transfer is cut into pieces, of which guest and host copy different ones at the same time.
#pragma once

#include <cstddef>

namespace apir::guest {

// How its commands get to the host: the next one when the last one is answered, or several at a time.
enum class Carriage { one_by_one, execbuffer, ring };

// Of a command that nobody awaits, and of a submission by ioctl.
inline constexpr size_t largest_piece = size_t{4} << 20;

// Pieces of at most `piece` bytes, carried by one thread or by two. Between `least` and `piece` they are as large as what came before them,
// or half of what is still to go out: while the first piece comes in nobody but the host has anything to copy, and while the last one goes
// out.
struct TransferCut {
    size_t piece;
    size_t least;
    bool two_lanes;

    // Bytes of the next piece at most, behind the first `begun` ones of `size`.
    size_t next(bool in, size_t size, size_t begun) const;
};

// `in`: to the guest.
TransferCut cut_transfer(Carriage by, bool in, size_t size);

} // namespace apir::guest
