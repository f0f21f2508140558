// What ggml-cuda says that it computes, and then asserts against, which ends the worker. Found with ggml 0.27 on an H200, by computing
// every case of the catalog natively, and, of products by experts and outer ones, by reading; what it asserts of the grids that its
// kernels run in is not known here.
#pragma once

#include <ggml-backend.h>
#include <ggml.h>

namespace apir::host {

// Of CUDA, or of ROCm or MUSA, for which the same kernels are compiled.
bool has_cuda_kernels(ggml_backend_dev_t device);
// Of a node whose types, sources and shapes are sound.
bool has_cuda_kernel(const ggml_tensor &node);

} // namespace apir::host
