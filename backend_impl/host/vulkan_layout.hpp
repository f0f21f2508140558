// What ggml-vulkan takes of where tensors lie, and does not say: most ops assert that they begin where a buffer of the device may be
// bound; strides are counted in elements; and numbers of eight bytes are copied as a whole or not at all.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>

namespace apir::host {

bool has_vulkan_kernels(ggml_backend_dev_t device);
// Of a node whose tensors all have memory.
bool has_vulkan_layout(const ggml_tensor &node);

} // namespace apir::host
