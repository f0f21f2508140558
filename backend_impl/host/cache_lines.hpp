// The processors' caches between two sides that write the same memory in turns.
#pragma once

#include <cstddef>

namespace apir::host {

// A tensor of this size is taken to stay in no cache until it is computed with: some hosts have larger ones, few leave them to one program.
inline constexpr size_t beyond_caches = size_t{32} << 20;

// Which way data goes between two cores depends on how far their caches are from each other (cache_distance.hpp). Where they share one, memory
// is the long way round: a loop as slow as an emulated guest's reads 2.1 GiB/s of what was streamed to it and 3.2 of what lies in another core's
// cache, and writes a slot that was flushed at 6.9 GiB/s, one that was left alone at 8.7 (measured on an Intel host of the Sapphire Rapids kind;
// on one of Zen 5 transfers of 64 KiB to 16 MiB are 5 to 30 % quicker so). Where they share none (vCPUs 0 and 1 of another EPYC host, measured) a
// slot that goes back and forth is written at 2 GiB/s and, if it lies in no cache, at 8, and is read from another core's cache at four fifths of
// the speed.

// Makes a data slot that has just been read ready to be written by another core: takes `size` bytes out of all caches where those are apart
// (elsewhere nothing happens). Less than 16 KiB, and more than 1 MiB, is left as it is.
void leave_caches(const void *data, size_t size);

// As memcpy, but past the caches (x86; from 16 KiB on): what was written is in memory, and what was there before is not read.
void copy_past_caches(void *to, const void *from, size_t size);

// As memcpy, for another core to read at once: past the caches (as copy_past_caches) where leave_caches() does something, else like any copy.
void copy_for_reader(void *to, const void *from, size_t size);

} // namespace apir::host
