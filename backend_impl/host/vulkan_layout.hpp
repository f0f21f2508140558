// What ggml-vulkan takes of where tensors lie: most ops assert that they begin where a buffer of the device may be bound.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>

namespace apir::host {

bool has_vulkan_kernels(ggml_backend_dev_t device);
// Of a node whose tensors all have memory.
bool has_vulkan_layout(const ggml_tensor &node);

} // namespace apir::host
