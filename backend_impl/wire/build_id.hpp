// The GNU build id of a loaded file, for proof of provenance.
#pragma once

#include <string>

namespace apir {

// Build id, in lower-case hex, of the program or library that `address` lies in; empty when it has none.
std::string build_id_of(const void *address);

} // namespace apir
