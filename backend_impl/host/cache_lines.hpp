// The processors' caches between two sides that write the same memory in turns.
#pragma once

#include <cstddef>

namespace apir::host {

// A tensor of this size is taken to stay in no cache until it is computed with: some hosts have larger ones, few leave them to one program.
inline constexpr size_t beyond_caches = size_t{32} << 20;

// What a core's own cache holds, or not much more.
inline constexpr size_t own_cache = size_t{1} << 20;

// What goes between two cores through a slot that is written and read in turns goes from cache to cache, or through memory. Which is quicker hangs on
// how far the caches are from each other (cache_distance.hpp): one that an emulated guest writes and the host reads takes 6.5 GiB/s through a near
// cache, 2.7 through a far one, and 5.5 through memory (EPYC, both phases); 8.7 through a near one and 6.9 through memory (Intel, Sapphire Rapids or
// later). What the host writes and such a guest reads is as quick through a far cache as through a near one, and quicker than through memory by 5 to
// 40 % (EPYC) or half (Intel): it is left where it is. But for caches that are farther still (EPYC, Zen 4, where the two processors may be of different
// sockets): then 64 MiB, of 12.5 ms elsewhere, take 30 ms through them and 12.8 through memory. All of that is of pieces that a core's own cache holds.
// Of larger ones (Zen 4, caches apart) to flush what the guest writes next took 27 to 29 % of the worker's time, and to write 256 MiB 1.02 to 1.35 times
// as long; and what the host writes past the caches the guest reads 0.86 to 1.33 times as quickly, more often above 1 than below. What remote caches
// make of such pieces was not measured by itself.

// Makes a data slot that has just been read ready to be written by another core: takes `size` bytes out of all caches where that is the shorter way
// for them (written_better_in_memory()). Less than 16 KiB, and more than 8 MiB, is left as it is.
void leave_caches(const void *data, size_t size);

// Whether `size` bytes that are now written for another core to read had better go past the caches: from 16 KiB on, by read_better_in_memory().
// Now and then it measures (cache_distance.hpp), which takes less than a millisecond, or 20 where the other processor is busy.
bool read_from_memory(size_t size);

// Moves what this processor has just written out of its own caches, into the one that all of them share: another processor finds it there sooner than it gets
// it from this one. Where each piece was moved so when the guest had been told of it, an emulated guest read 128 KiB 1.18 to 1.20 times as quickly through a
// pipe, 1 MiB 1.13 to 1.16, 4 MiB 1.06 to 1.08 and 16 MiB 1.05 to 1.09 times; when it was told only after that, 0.94, 1.06, 1.03 and 1.07 times (Intel,
// Granite Rapids). Pieces of 3 and 4 MiB in commands of their own, of which a core's own cache has not all, were read 0.84 to 0.94 times as quickly then. A
// hint to Intel's processors, Sapphire Rapids and later; others are left alone, and so is what is less than 16 KiB.
void demote(const void *data, size_t size);

// As memcpy, but past the caches (x86; from 16 KiB on): what was written is in memory, and what was there before is not read.
void copy_past_caches(void *to, const void *from, size_t size);

} // namespace apir::host
