// Huge pages for much memory. Many systems give them out only where somebody asks, and ggml does not.
#pragma once

#include <cstddef>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE // older than the kernel's
#define MADV_COLLAPSE 25
#endif

namespace apir::host {

// The size of one on x86 and most others.
inline constexpr size_t huge_page = size_t{2} << 20;

// Asks the kernel for huge pages in that part of some memory that whole ones fit into, best before it is first used. Where the kernel has none to
// give, or is told to give none (transparent_hugepage/enabled is `never`), nothing changes; where that is `always`, little does.
//
// What it is worth (a host that is a virtual machine itself, so that each page has to be found twice): 256 MiB that a transfer is the first to write
// take 60 to 90 ms in place of 140 to 190, most of which was the kernel's, page by page; but for memory that the machine below has yet to give
// to its guest, which takes it as long either way. A bare loop that copies to and from such memory was 5 to 60 % quicker, by where the small pages
// happened to lie.
//
// What it costs: memory that is used here and there is there by 2 MiB each time. With transparent_hugepage/defrag as most systems have it the kernel may
// first have to make room for a huge page, while the call that uses it waits. What the C library takes from its heap stays marked when it is freed.
void wish_for_huge_pages(void *memory, size_t size);

// Puts such pages below that part of some memory at once, whatever is there already. For memory that is shared with the guest: of a file in
// memory the kernel gives huge pages to nobody who only asks, unless the system says so (transparent_hugepage/shmem_enabled is `never` by default).
//
// What it is worth, on the same kind of host: a token of a model of 350 MiB, computed by the host's CPU from weights in the guest's blobs, 1.1 to 1.2 times as
// quick; 64 MiB that the guest writes to such a blob and reads from it 1.4 and 1.2 times. It takes about as long as it would have taken to touch all that
// memory page by page (0.2 to 2 ms for each MiB), which is no longer to be done.
//
// Nothing changes where the kernel cannot (before Linux 6.1, or where its huge pages are of another size) or will not do it, where the memory is smaller
// than two such pages, for what is not done after a second, because a call waits for it, and for what would leave less than a quarter of the system's
// memory, or of what a control group (version 2) may have, for everybody else.
void gather_huge_pages(void *memory, size_t size);

} // namespace apir::host
