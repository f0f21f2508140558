// The processors' caches between two sides that write the same memory in turns.
#pragma once

#include <cstddef>

namespace apir::host {

// A tensor of this size is taken to stay in no cache until it is computed with: some hosts have larger ones, few leave them to one program.
inline constexpr size_t beyond_caches = size_t{32} << 20;

// Takes `size` bytes out of all caches (x86 with CLFLUSHOPT; elsewhere nothing happens). Whoever writes a line that another core has just
// read waits until that core has given it up, one line after the other: on processors whose cores share no cache (vCPUs 0 and 1 of an
// EPYC host, measured) a data slot that goes back and forth is written at 2 GiB/s, by any loop, and at 8 GiB/s if it lies in no cache.
// Less than 16 KiB, and more than 1 MiB, is left as it is.
void leave_caches(const void *data, size_t size);

// As memcpy, but past the caches (x86; from 16 KiB on): what was written is in memory, for whichever core reads it next, and what was there
// before is not read. From another core's cache an emulated guest (measured on that host) reads it at four fifths of the speed.
void copy_past_caches(void *to, const void *from, size_t size);

} // namespace apir::host
