// What the kernels of ggml-vulkan take of where tensors lie: they bind them from their beginning, which some ops assert to be aligned.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>

namespace apir::host {

bool has_vulkan_kernels(ggml_backend_dev_t device);
// Of a node whose tensors all have memory.
bool has_vulkan_layout(const ggml_tensor &node);

} // namespace apir::host
