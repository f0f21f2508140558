// Copies between the program's memory and what is shared with the host.
#pragma once

#include <cstddef>

namespace apir::guest {

// As memcpy. Large copies go the way that was measured to be the quickest here.
void bulk_copy(void *to, const void *from, size_t size);

} // namespace apir::guest
