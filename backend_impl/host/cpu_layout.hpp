// What ggml-cpu's kernels assert of strides and types, and its supports_op does not say. Strides have to be such for every
// device, not for ggml-cpu alone: check_op in op_rules.cpp tells why.
#pragma once

#include <ggml-backend.h>

namespace apir::host {

// Whether the device is ggml-cpu's: others bring kernels, and limits, of their own.
bool has_cpu_kernels(ggml_backend_dev_t device);

// Whether ggml-cpu can be handed the op, all of whose required sources are there, without reaching an assertion about strides, and
// without a kernel that leaves a tensor because it takes it for contiguous.
bool has_cpu_layout(const ggml_tensor &tensor);

// Whether ggml-cpu's kernel of the op takes the shape, which those of others do, and works in at most 64 MiB for each thread.
bool has_cpu_shape(const ggml_tensor &tensor);

// Whether ggml-cpu has a kernel of the op for these types: an op with others asserts. (cpu_types.cpp)
bool has_cpu_types(const ggml_tensor &tensor);
// The same of devices that have kernels of their own: these multiply any weight by half precision as well. (cpu_types.cpp)
bool has_gpu_types(const ggml_tensor &tensor);

} // namespace apir::host
