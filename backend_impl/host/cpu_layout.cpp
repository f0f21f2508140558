#include "cpu_layout.hpp"

#include <cstring>

namespace apir::host {
namespace {

// Elements of a row lie side by side.
bool dense_rows(const ggml_tensor &tensor) { return tensor.nb[0] == ggml_type_size(tensor.type); }

bool ordered(const ggml_tensor &tensor) {
    return tensor.nb[0] <= tensor.nb[1] && tensor.nb[1] <= tensor.nb[2] && tensor.nb[2] <= tensor.nb[3];
}

// Ops whose kernels follow all strides of the result, of source 0, of source 1. Seen in test-backend-ops; all others assert.
bool any_result(ggml_op op) { return op == GGML_OP_CPY || op == GGML_OP_DUP || op == GGML_OP_CONT || op == GGML_OP_CONV_2D_DW; }

bool wants_order(ggml_op op) {
    return op == GGML_OP_MUL_MAT || op == GGML_OP_MUL_MAT_ID || op == GGML_OP_OUT_PROD || op == GGML_OP_FLASH_ATTN_EXT;
}

bool any_source(ggml_op op, int source) {
    switch (op) {
    case GGML_OP_CPY:
    case GGML_OP_CONV_2D:
    case GGML_OP_CONV_2D_DW: return source < 2;
    case GGML_OP_ADD:
    case GGML_OP_SUB:
    case GGML_OP_MUL:
    case GGML_OP_DIV:
    case GGML_OP_OUT_PROD: return source == 1;
    case GGML_OP_CONT:
    case GGML_OP_DUP:
    case GGML_OP_NORM:
    case GGML_OP_L2_NORM:
    case GGML_OP_PAD:
    case GGML_OP_SUM:
    case GGML_OP_UPSCALE: return source == 0;
    default: return false;
    }
}

// The kernel of RWKV_WKV7 steps through a head by whole vectors, 64 numbers with AVX-512, and writes behind a head that is no
// multiple of that: seen to corrupt the heap with a head of 32.
constexpr int64_t wkv7_step = 64;

bool whole_steps(const ggml_tensor &tensor) {
    return tensor.op != GGML_OP_RWKV_WKV7 || (tensor.src[0] != nullptr && tensor.src[0]->ne[0] % wkv7_step == 0);
}

} // namespace

bool has_cpu_kernels(ggml_backend_dev_t device) {
    return std::strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), "CPU") == 0;
}

bool has_cpu_layout(const ggml_tensor &tensor) {
    if (!any_result(tensor.op) && !dense_rows(tensor)) return false;
    if (wants_order(tensor.op) && !ordered(tensor)) return false;
    if (!whole_steps(tensor)) return false;
    for (int i = 0; i < GGML_MAX_SRC; ++i)
        if (tensor.src[i] != nullptr && !any_source(tensor.op, i) && !dense_rows(*tensor.src[i])) return false;
    return true;
}

} // namespace apir::host
