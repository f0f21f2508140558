// What ggml-cuda says that it computes, and then asserts against or dies of, which ends the worker. Found with ggml 0.27 on an H200, by computing
// every case of the catalog natively and by messages of the mutation driver (fuzz/README.md); of products by experts and outer ones by reading. What it
// asserts of the grids that its kernels run in is not known here.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>

namespace apir::host {

// Of CUDA, or of ROCm or MUSA, for which the same kernels are compiled.
bool has_cuda_kernels(ggml_backend_dev_t device);
// Of a node whose types, sources and shapes are sound.
bool has_cuda_kernel(const ggml_tensor &node);
// Whether its blocks lie side by side: asked for a tensor's size in a buffer, ggml-cuda asserts it.
bool has_cuda_blocks(const ggml_tensor &tensor);
// Of a tensor that owns its data, in a buffer: whether what ggml-cuda fills up of its last row, and reads there, is the buffer's too.
bool has_cuda_room(const ggml_tensor &tensor);
// Of a node whose tensors lie in buffers: whether they begin where the kernels can load them.
bool has_cuda_layout(const ggml_tensor &node);

} // namespace apir::host
