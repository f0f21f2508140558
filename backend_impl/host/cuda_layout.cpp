#include "cuda_layout.hpp"

#include <algorithm>
#include <cstring>

namespace apir::host {
namespace {

bool is_float(ggml_type type) { return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16; }

// One array, in whatever order.
bool has_no_gaps(const ggml_tensor &tensor) { return ggml_is_contiguously_allocated(&tensor); }

// Its rows, planes and so on begin at a multiple of two elements.
bool begins_in_pairs(const ggml_tensor &tensor) {
    const size_t pair = 2 * ggml_type_size(tensor.type);
    return std::all_of(tensor.nb + 1, tensor.nb + GGML_MAX_DIMS, [&](size_t stride) { return stride % pair == 0; });
}

// A matrix of floats by a few columns is multiplied in pairs of elements. Whether it may be is asked of the matrix, and not of the columns.
bool multiplies(const ggml_tensor &node) {
    constexpr int64_t few = 16;
    const ggml_tensor &matrix = *node.src[0];
    const ggml_tensor &columns = *node.src[1];
    const bool in_pairs = is_float(matrix.type) && matrix.ne[0] % 2 == 0 && begins_in_pairs(matrix) && columns.ne[1] <= few;
    return !in_pairs || begins_in_pairs(columns);
}

// Of experts the columns of a token, and tokens, lie whole rows apart.
bool multiplies_by_experts(const ggml_tensor &node) {
    const ggml_tensor &columns = *node.src[1];
    const bool apart = columns.nb[1] > 0 && columns.nb[2] >= columns.nb[1] && columns.nb[2] % columns.nb[1] == 0;
    return apart && (!is_float(node.src[0]->type) || begins_in_pairs(columns));
}

// One axis has its elements side by side, and the other one begins behind all of them.
bool is_matrix_of(const ggml_tensor &tensor, int dense) {
    const size_t one = ggml_type_size(tensor.type);
    return tensor.nb[dense] == one && tensor.nb[1 - dense] >= one * static_cast<size_t>(tensor.ne[dense]);
}

// Which way the second source lies is told by its strides: transposed, and of a single row, it looks like one that is not, with rows in one another.
bool multiplies_outer(const ggml_tensor &node) {
    const ggml_tensor &b = *node.src[1];
    return is_matrix_of(*node.src[0], 0) && is_matrix_of(b, ggml_is_transposed(&b) ? 1 : 0);
}

// Of sizes that kernels are made for. The first source has a head's numbers along the first axis.
bool has_head(const ggml_tensor &node) { return node.src[0]->ne[0] == 64 || node.src[0]->ne[0] == 128; }

// With a cap on its logits attention has fewer kernels.
bool attends(const ggml_tensor &node) {
    float cap = 0;
    std::memcpy(&cap, node.op_params + 2, sizeof cap);
    return cap == 0 || node.src[0]->ne[0] == 128 || node.src[0]->ne[0] == 256;
}

// Blocks are copied as they are.
bool copies(const ggml_tensor &node) { return !ggml_is_quantized(node.src[0]->type) || ggml_is_contiguous(node.src[0]); }

} // namespace

bool has_cuda_kernels(ggml_backend_dev_t device) {
    const char *name = ggml_backend_reg_name(ggml_backend_dev_backend_reg(device));
    return std::strcmp(name, "CUDA") == 0 || std::strcmp(name, "ROCm") == 0 || std::strcmp(name, "MUSA") == 0;
}

bool has_cuda_kernel(const ggml_tensor &node) {
    switch (node.op) {
    case GGML_OP_CONT:
    case GGML_OP_DUP: return copies(node);
    case GGML_OP_FLASH_ATTN_EXT: return attends(node);
    case GGML_OP_GATED_LINEAR_ATTN:
    case GGML_OP_RWKV_WKV6:
    case GGML_OP_RWKV_WKV7: return has_head(node);
    case GGML_OP_MUL_MAT: return multiplies(node);
    case GGML_OP_MUL_MAT_ID: return multiplies_by_experts(node);
    case GGML_OP_OUT_PROD: return multiplies_outer(node);
    case GGML_OP_SET: return ggml_is_contiguous(node.src[1]);
    case GGML_OP_SUM: return node.src[0]->type == GGML_TYPE_F32 && has_no_gaps(*node.src[0]);
    case GGML_OP_UNARY: return ggml_get_unary_op(&node) != GGML_UNARY_OP_XIELU || ggml_is_contiguous(node.src[0]);
    default: return true;
    }
}

} // namespace apir::host
