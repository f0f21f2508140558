// What an op needs before ggml may see it: its sources, its sub-operation, and that it is no callback.
#pragma once

#include <ggml.h>

namespace apir::host {

// Whether the op computes nothing: its tensor is a way to look at another one.
bool is_view_op(ggml_op op);

// Throws Refusal unless the op of a filled tensor with its sources set may be handed to a backend. The shapes are the
// backend's matter: ask supports_op afterwards.
void check_op(const ggml_tensor &tensor);

} // namespace apir::host
