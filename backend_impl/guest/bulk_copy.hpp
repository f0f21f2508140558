// Copies between the program's memory and what is shared with the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace apir::guest {

// Which memory of a copy is in no cache of this processor: part of more than caches hold, or another one has just written it.
enum class Far { none, source, target, both };
// A transfer of this size moves more than that.
inline constexpr size_t beyond_caches = size_t{32} << 20;

// As memcpy. Large copies go the way that is the quickest here: as known of emulated processors, or as measured.
void bulk_copy(void *to, const void *from, size_t size, Far far = Far::none);

struct CopyLoop {
    const char *name;
    void (*copy)(uint8_t *to, const uint8_t *from, size_t size);
};
// Those that this processor can run, of which bulk_copy() takes one.
std::vector<CopyLoop> copy_loops();

// Whether QEMU's emulator may have to look up the pages of both anew with every access that follows one to the other: it knows pages by
// the lower bits of their numbers, eight or more, and has one of those that agree in them at hand. A loop that takes turns between two
// such pages is twenty times as slow as between others.
bool pages_collide(const void *to, const void *from);

} // namespace apir::guest
