#include "transfer_cut.hpp"

#include <algorithm>

#include "bulk_copy.hpp"

namespace apir::guest {

namespace {

constexpr size_t kib = 1024;
constexpr size_t mib = 1024 * kib;
constexpr size_t page = 4096;
// So much is cut into pieces where a thread has to await each one before it sends the next one.
constexpr size_t least_one_by_one = 8 * mib;
// Of what goes out by the ring by two threads, the worker asleep between two pieces.
constexpr size_t large_piece = 6 * mib;

TransferCut alike(size_t piece, bool two_lanes) { return {piece, piece, two_lanes}; }

} // namespace

size_t TransferCut::next(bool in, size_t size, size_t begun) const {
    const size_t fitting = in ? begun : (size - std::min(size, begun)) / 2 / page * page;
    return std::clamp(fitting, least, piece);
}

// A command of the ring costs next to nothing: pieces so small that both sides' caches hold them. A submission by ioctl costs what
// copying some 256 KiB does, and the thread that makes it copies nothing meanwhile: few pieces, one of what is less than 4 MiB. A second
// thread takes the processor of who carries commands, until the data is more than any cache holds and memory is what everybody waits for.
// Where commands go one by one each of them costs the host's waking as well: one for what is less than 8 MiB. Of more, the host is at one piece
// while the guest is at the next one, or the last. Of what goes out and memory is awaited for, a second thread copies while the first one waits.
// What two threads may carry in comes in somewhat smaller pieces: while the first ones do, nobody but the host has anything to copy.
TransferCut cut_transfer(Carriage by, bool in, size_t size) {
    const size_t eighth = (size / 8 + page - 1) / page * page;
    switch (by) {
    case Carriage::one_by_one:
        if (size < least_one_by_one) return alike(size, false);
        if (size < beyond_caches) return alike(in ? largest_piece : 3 * mib, false);
        return in ? alike(3 * mib, false) : alike(largest_piece, true);
    case Carriage::execbuffer:
        if (size < beyond_caches) return alike(std::min(size, largest_piece), false);
        return alike(in ? 3 * mib : largest_piece, true);
    default:
        if (size >= beyond_caches) return alike(in ? largest_piece : std::clamp(eighth, largest_piece, large_piece), true);
        return {448 * kib, 128 * kib, false};
    }
}

} // namespace apir::guest
