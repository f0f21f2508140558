// How long a graph may take to compute, told by its shapes alone.
#pragma once

#include <cstdint>

#include <ggml.h>

namespace apir::host {

// Steps of the innermost loops of the op's kernel, about: multiplications of a product, numbers of what goes over each once. Meant to be
// too few by ten times at most, whatever the shapes and parameters are. It may be too many by more, for numbers are counted of the
// largest tensor; not for products and attention, whose weights and keys are the largest tensors that models have.
double work_of(const ggml_tensor &node);

} // namespace apir::host
