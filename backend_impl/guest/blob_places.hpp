// Where large blobs are mapped: so that the slots of transfers, one behind the other, have places of their own in an emulator's table of pages
// (emulated_pages.hpp). A page's place there is told by its number, modulo the size of the table. Blobs of 24 MiB that Linux puts side by side lie 48
// pages apart in every table of up to 2048: of four slots with a mebibyte each, every one took the others' places, and no table ever was as full as
// it has to be to grow.
#pragma once

#include <cstddef>
#include <sys/types.h>

namespace apir::guest {

// Of what is smaller nobody goes through so much that it matters.
inline constexpr size_t least_placed = size_t{1} << 20;
// Pages from one blob's place to the next one's, in a table of `most_placed` pages. Four in a row lie 256 pages or more apart in a table of 1024, so
// that a mebibyte of each fills it, and in any larger one; in the largest 1792.
inline constexpr size_t place_step = 1792;
inline constexpr size_t most_placed = 8192;

// As mmap of a shared blob, to be read and written; at the place of the `number`-th one, or anywhere where that cannot be had. Numbers are those of
// all that is mapped so: slots with others between them may share places.
void *map_at_place(size_t number, int fd, off_t offset, size_t size);

} // namespace apir::guest
