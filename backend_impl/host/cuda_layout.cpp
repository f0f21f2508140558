#include "cuda_layout.hpp"

#include <algorithm>
#include <cstdint>
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

// Kernels find what lies apart by strides in elements.
bool counts_in_elements(const ggml_tensor &tensor) {
    return std::all_of(tensor.nb, tensor.nb + GGML_MAX_DIMS, [&](size_t stride) { return stride % ggml_type_size(tensor.type) == 0; });
}

// Of arrays dimensions are taken together, with the first one's stride times all of them, also where that is none that is used.
bool counts_in_32_bits(const ggml_tensor &tensor, bool are_arrays) {
    double most = 0, behind = 1;
    for (int axis = GGML_MAX_DIMS - 1; axis > 0; --axis) {
        if (are_arrays) behind *= static_cast<double>(tensor.ne[axis]);
        most = std::max(most, behind * static_cast<double>(tensor.nb[axis] / ggml_type_size(tensor.type)));
    }
    return most <= UINT32_MAX;
}

// Of two sources, either of which may be repeated.
bool combines(const ggml_tensor &node) {
    const auto is_array = [](const ggml_tensor *source) { return source == nullptr || ggml_is_contiguous(source); };
    const bool are_arrays = std::all_of(node.src, node.src + GGML_MAX_SRC, is_array);
    const auto counts = [&](const ggml_tensor *source) { return source == nullptr || counts_in_32_bits(*source, are_arrays); };
    return counts_in_32_bits(node, are_arrays) && std::all_of(node.src, node.src + GGML_MAX_SRC, counts);
}

bool takes_arrays(const ggml_tensor &node) { return ggml_is_contiguous(node.src[0]) && ggml_is_contiguous(node.src[1]); }

// Those of dimensions of one, too.
bool has_rising_strides(const ggml_tensor &tensor) { return std::is_sorted(tensor.nb, tensor.nb + GGML_MAX_DIMS); }

// Of all other ops kernels write their result as an array, and some assert that it is one.
bool goes_by_strides_of_result(ggml_op op) {
    switch (op) {
    case GGML_OP_ADD:
#if APIR_GGML_GENERATION == 0
    case GGML_OP_ADD1:
#endif
    case GGML_OP_CLAMP:
    case GGML_OP_CPY:
    case GGML_OP_DIV:
    case GGML_OP_MUL:
    case GGML_OP_REPEAT:
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK:
    case GGML_OP_SET_ROWS:
    case GGML_OP_SUB: return true;
    default: return false;
    }
}

// What is turned is written in pairs.
bool turns(const ggml_tensor &node) { return begins_in_pairs(node); }

// Where a part is written is told in bytes.
bool writes_elements(const ggml_tensor &node) {
    const auto one = static_cast<int32_t>(ggml_type_size(node.type));
    return std::all_of(node.op_params, node.op_params + 4, [&](int32_t bytes) { return bytes % one == 0; });
}

bool is_precision(int32_t number) {
    switch (number) {
    case GGML_PREC_UNDEFINED:
    case GGML_PREC_F32:
    case GGML_PREC_BF16:
    case GGML_PREC_F16:
    case GGML_PREC_Q8:
    case GGML_PREC_Q4: return true;
    default: return false;
    }
}

// Of what a product is added up in, and of what its second source may be made: blocks, by kernels for blocks.
bool has_precisions(const ggml_tensor &node) {
    const int32_t second = node.op_params[3];
    const bool of_blocks = second == GGML_PREC_UNDEFINED || second == GGML_PREC_Q8 || second == GGML_PREC_Q4;
    return is_precision(node.op_params[0]) && (ggml_is_quantized(node.src[0]->type) ? of_blocks : is_precision(second));
}

// Blocks are loaded by words of what their size is a multiple of, four bytes at most; numbers as a whole.
size_t word_of(ggml_type type) {
    const size_t size = ggml_type_size(type);
    if (!ggml_is_quantized(type)) return size;
    return size % 4 == 0 ? 4 : size % 2 == 0 ? 2 : 1;
}

bool is_aligned(const ggml_tensor &tensor) { return reinterpret_cast<uintptr_t>(tensor.data) % word_of(tensor.type) == 0; }

// The tensor itself lies in its buffer.
bool leaves_room(const ggml_tensor &tensor) {
    const auto *base = static_cast<const uint8_t *>(ggml_backend_buffer_get_base(tensor.buffer));
    const auto begin = static_cast<size_t>(static_cast<const uint8_t *>(tensor.data) - base);
    return ggml_backend_buffer_get_alloc_size(tensor.buffer, &tensor) <= ggml_backend_buffer_get_size(tensor.buffer) - begin;
}

// Blocks are copied as they are.
bool copies(const ggml_tensor &node) { return !ggml_is_quantized(node.src[0]->type) || ggml_is_contiguous(node.src[0]); }

} // namespace

bool has_cuda_kernels(ggml_backend_dev_t device) {
    const char *name = ggml_backend_reg_name(ggml_backend_dev_backend_reg(device));
    return std::strcmp(name, "CUDA") == 0 || std::strcmp(name, "ROCm") == 0 || std::strcmp(name, "MUSA") == 0;
}

bool has_cuda_kernel(const ggml_tensor &node) {
    if (!goes_by_strides_of_result(node.op) && !ggml_is_contiguous(&node)) return false;
    for (const ggml_tensor *source : node.src)
        if (source != nullptr && (!counts_in_elements(*source) || !has_cuda_blocks(*source))) return false;
    if (!counts_in_elements(node) || !has_cuda_blocks(node)) return false;
    switch (node.op) {
    case GGML_OP_ACC: return writes_elements(node);
    case GGML_OP_ADD:
#if APIR_GGML_GENERATION == 0
    case GGML_OP_ADD1:
#endif
    case GGML_OP_DIV:
    case GGML_OP_MUL:
    case GGML_OP_REPEAT:
    case GGML_OP_SUB: return combines(node);
    case GGML_OP_CLAMP: return ggml_is_contiguous_rows(node.src[0]) && ggml_is_contiguous_rows(&node);
    case GGML_OP_CONV_TRANSPOSE_1D:
    case GGML_OP_CONV_TRANSPOSE_2D:
    case GGML_OP_GET_ROWS_BACK: return takes_arrays(node);
    case GGML_OP_CONT:
    case GGML_OP_DUP: return copies(node);
    case GGML_OP_FLASH_ATTN_EXT: return attends(node);
    case GGML_OP_GATED_DELTA_NET: return ggml_are_same_stride(node.src[0], node.src[1]);
    case GGML_OP_GATED_LINEAR_ATTN:
    case GGML_OP_RWKV_WKV6:
    case GGML_OP_RWKV_WKV7: return has_head(node);
    case GGML_OP_LIGHTNING_INDEXER: return has_rising_strides(node);
    case GGML_OP_MUL_MAT: return has_precisions(node) && multiplies(node);
    case GGML_OP_MUL_MAT_ID: return has_precisions(node) && multiplies_by_experts(node);
    case GGML_OP_OUT_PROD: return multiplies_outer(node);
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK: return turns(node);
    case GGML_OP_SET: return ggml_is_contiguous(node.src[1]) && writes_elements(node);
    case GGML_OP_SUM: return node.src[0]->type == GGML_TYPE_F32 && has_no_gaps(*node.src[0]);
    case GGML_OP_UNARY: return ggml_get_unary_op(&node) != GGML_UNARY_OP_XIELU || ggml_is_contiguous(node.src[0]);
    default: return true;
    }
}

bool has_cuda_blocks(const ggml_tensor &tensor) { return !ggml_is_quantized(tensor.type) || tensor.nb[0] == ggml_type_size(tensor.type); }

bool has_cuda_room(const ggml_tensor &tensor) { return !ggml_is_quantized(tensor.type) || (has_cuda_blocks(tensor) && leaves_room(tensor)); }

bool has_cuda_layout(const ggml_tensor &node) {
    if (!is_aligned(node) || (node.op == GGML_OP_FLASH_ATTN_EXT && !leaves_room(node))) return false;
    const bool in_pairs = node.op == GGML_OP_ROPE || node.op == GGML_OP_ROPE_BACK;
    if (in_pairs && reinterpret_cast<uintptr_t>(node.data) % (2 * ggml_type_size(node.type)) != 0) return false;
    return std::all_of(node.src, node.src + GGML_MAX_SRC, [](const ggml_tensor *source) { return source == nullptr || is_aligned(*source); });
}

} // namespace apir::host
