// Whether a tensor that a guest describes is one that ggml can be handed.
//
// Everything here is pure: records in, sizes or a Refusal out. Sizes are computed in 128 bits and bounded, so that what
// passes cannot overflow in ggml either.
#pragma once

#include <cstdint>

#include <apir_gen.hpp>
#include <ggml.h>

namespace apir::host {

// Far more than any memory holds, far less than what overflows when a few of them are added or multiplied by a block size.
inline constexpr uint64_t max_extent = uint64_t{1} << 48;
// ggml's kernels count rows and columns with `int` in places, in steps of as many as there are threads: the last step is not to wrap around.
inline constexpr int64_t max_dimension = INT32_MAX - GGML_MAX_N_THREADS;

// Bytes a tensor reaches, from its first to behind its last.
struct Extent {
    uint64_t strided; // by its strides, and by whole rows where a stride is less than a row's element
    uint64_t packed; // as if it were contiguous: what a kernel that ignores strides would touch
};

// Fills type, shape, op, parameters, flags and name; no pointer. Throws Refusal when type or shape is none that ggml knows.
void fill(ggml_tensor &tensor, const TensorRecord &record);
void fill(ggml_tensor &tensor, const WideTensorRecord &record);
void fill(ggml_tensor &tensor, const RawTensor &record);

// The reach of a filled tensor; throws Refusal when it is beyond max_extent.
Extent extent_of(const ggml_tensor &tensor);

// Whether [begin, begin + size) lies in [0, limit).
constexpr bool within(uint64_t begin, uint64_t size, uint64_t limit) { return size <= limit && begin <= limit - size; }

} // namespace apir::host
