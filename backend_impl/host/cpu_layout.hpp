// What ggml-cpu's kernels assert of strides, and its supports_op does not say.
#pragma once

#include <ggml-backend.h>

namespace apir::host {

// Whether the device is ggml-cpu's: others bring kernels, and limits, of their own.
bool has_cpu_kernels(ggml_backend_dev_t device);

// Whether ggml-cpu can be handed the op without reaching an assertion about the stride of a row's elements.
bool has_cpu_layout(const ggml_tensor &tensor);

} // namespace apir::host
