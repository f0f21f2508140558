// What an op needs before ggml may see it: its sources, its sub-operation, and that it is no callback.
#pragma once

#include <ggml-backend.h>

namespace apir::host {

// Whether the op computes nothing: its tensor is a way to look at another one.
bool is_view_op(ggml_op op);

// A cast that lost its second source, itself, gets it back: ggml_backend_graph_copy drops it, and not every backend does without.
void complete_cast(ggml_tensor &tensor);

// Throws Refusal unless the op of a filled tensor with its sources set is well-formed and may be handed to the device. What of
// well-formed ops it can compute is its own matter: ask supports_op afterwards.
void check_op(const ggml_tensor &tensor, ggml_backend_dev_t device);

} // namespace apir::host
