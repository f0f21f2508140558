// What ggml-vulkan takes, and does not say: most ops assert that tensors begin where a buffer of the device may be bound, all others that
// they begin whole elements behind such a place; strides are counted in elements; and it says of some ops that it computes them which it
// does not.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>

namespace apir::host {

bool has_vulkan_kernels(ggml_backend_dev_t device);
// Of a node whose types, sources and shapes are sound.
bool has_vulkan_shader(const ggml_tensor &node, ggml_backend_dev_t device);
// Of a node whose tensors all have memory.
bool has_vulkan_layout(const ggml_tensor &node);

} // namespace apir::host
