// What ggml-vulkan takes, and does not say: most ops assert that tensors begin where a buffer of the device may be bound, all others that
// they begin whole elements behind such a place; strides are counted in elements; many ops have more work groups the larger their tensors
// are, and assert that the device takes as many; and it says of some ops that it computes them which it does not.
//
// All of it is of ggml 0.27, and to be found anew with another one.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>

namespace apir::host {

bool has_vulkan_kernels(ggml_backend_dev_t device);
// Of a node whose types, sources and shapes are sound, and not too large for the device.
bool has_vulkan_shader(const ggml_tensor &node, ggml_backend_dev_t device);
// Of a node whose tensors all have memory.
bool has_vulkan_layout(const ggml_tensor &node);
// Of a node whose tensors have no memory yet: whether it will have that layout, given that what they are views of begins aligned, and that its
// sources are computed in the same graph.
bool will_have_vulkan_layout(const ggml_tensor &node, ggml_backend_dev_t device);

} // namespace apir::host
