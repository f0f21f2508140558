// Ops whose kernels go where a tensor's data says. ggml-cpu asserts that it is a place there is, or reads and writes there anyway.
#pragma once

#include <cstdint>

#include <ggml.h>

namespace apir::host {

struct DataUse {
    enum class Kind {
        none,
        indices, // each number of the source is from `least` to below `limit`
        sorted, // the source has no NaN, by which sorting runs over the ends; and nobody else writes to the result while it is sorted
        padded, // `limit` numbers of the source are read, more than it has
    };
    Kind kind = Kind::none;
    int source = 0;
    int64_t limit = 0;
    int64_t least = 0;
};

// Of an op with its sources.
DataUse data_use(const ggml_tensor &node);

} // namespace apir::host
