// Whether the shape of an op's result follows from its sources and parameters, as ggml's own constructors would have it.
//
// Kernels trust this: many walk a source by the dimensions of the result. What a backend can compute of well-formed ops, its
// supports_op says; this is about ops that no constructor would have made.
//
// Not seen here: indices that lie in a tensor's data (data_use.hpp has the ops). They may be made by an earlier node of the same
// graph; guarded_compute.hpp checks them when the graph is computed, on devices whose kernels run in this process's memory.
#pragma once

#include <ggml.h>

namespace apir::host {

// False for an op that is not well-formed. True for those that only look at another tensor. The required sources are set, see
// op_rules.hpp.
bool has_consistent_shapes(const ggml_tensor &tensor);

} // namespace apir::host
