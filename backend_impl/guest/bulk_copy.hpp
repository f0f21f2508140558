// Copies between the program's memory and what is shared with the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace apir::guest {

// As memcpy. Large copies go the way that was measured to be the quickest here.
void bulk_copy(void *to, const void *from, size_t size);

using CopyLoop = void (*)(uint8_t *to, const uint8_t *from, size_t size);
// Those that this processor can run, of which bulk_copy() takes one.
std::vector<CopyLoop> copy_loops();

} // namespace apir::guest
