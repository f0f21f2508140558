// Whether the shape of an op's result follows from its sources and parameters, as ggml's own constructors would have it.
//
// Kernels trust this: many walk a source by the dimensions of the result. What a backend can compute of well-formed ops, its
// supports_op says; this is about ops that no constructor would have made.
//
// Not seen here: indices that lie in a tensor's data (GET_ROWS, SET_ROWS, MUL_MAT_ID, SSM_SCAN's ids). They may be made by an
// earlier node of the same graph. A kernel that asserts on a wrong one ends the worker, which is its own guest's.
#pragma once

#include <ggml.h>

namespace apir::host {

// False for an op that is not well-formed. True for ops whose rule is not known here: see the table's end. The required sources
// are set, see op_rules.hpp.
bool has_consistent_shapes(const ggml_tensor &tensor);

} // namespace apir::host
