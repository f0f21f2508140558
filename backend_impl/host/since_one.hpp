// What ggml 1.0 has of its own, for rules that are written for both: with 0.27 no tensor is any of it.
#pragma once

#include <ggml.h>

namespace apir::host {

// Numbers of eight bits. Most kernels make numbers of full precision of a row of them first, as of blocks.
inline bool is_float8([[maybe_unused]] ggml_type type) {
#if APIR_GGML_GENERATION > 0
    return type == GGML_TYPE_F8_E4M3;
#else
    return false;
#endif
}

// Attention to the rows of keys and values whose numbers source 5 has; a negative one is none.
inline bool has_kv_rows(const ggml_tensor &tensor) {
    return APIR_GGML_GENERATION > 0 && tensor.op == GGML_OP_FLASH_ATTN_EXT && tensor.src[5] != nullptr;
}

} // namespace apir::host
