// How long a graph may take to compute, told by its shapes alone.
#pragma once

#include <cstdint>

#include <ggml.h>

namespace apir::host {

// Steps of the innermost loops of the op's kernel, about: multiplications of a product, numbers of what goes over each once. Never
// less than an order of magnitude below what a kernel does, whatever the parameters are.
double work_of(const ggml_tensor &node);

} // namespace apir::host
