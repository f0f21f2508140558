// Huge pages for much memory. Many systems give them out only where somebody asks, and ggml does not.
#pragma once

#include <cstddef>

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

} // namespace apir::host
