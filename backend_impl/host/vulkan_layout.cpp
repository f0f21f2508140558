#include "vulkan_layout.hpp"

#include <cstring>

namespace apir::host {
namespace {

// Ops whose shaders are told how far behind an aligned address a tensor begins. All others assert it, or bind the address as it is,
// which a driver need not take (multiplications of large matrices). Found with ggml 0.27 by moving each operand of four cases of every
// op by one element, among all that ggml-vulkan computes.
bool steps_over_misalignment(ggml_op op) {
    switch (op) {
    case GGML_OP_ACC:
    case GGML_OP_ADD:
    case GGML_OP_CLAMP:
    case GGML_OP_CONCAT:
    case GGML_OP_CONT:
    case GGML_OP_CONV_2D:
    case GGML_OP_CONV_3D:
    case GGML_OP_CONV_TRANSPOSE_2D:
    case GGML_OP_COS:
    case GGML_OP_CPY:
    case GGML_OP_CUMSUM:
    case GGML_OP_DIAG:
    case GGML_OP_DIV:
    case GGML_OP_DUP:
    case GGML_OP_GET_ROWS:
    case GGML_OP_GET_ROWS_BACK:
    case GGML_OP_GLU:
    case GGML_OP_IM2COL_3D:
    case GGML_OP_L2_NORM:
    case GGML_OP_LEAKY_RELU:
    case GGML_OP_LOG:
    case GGML_OP_MEAN:
    case GGML_OP_MUL:
    case GGML_OP_NORM:
    case GGML_OP_PAD:
    case GGML_OP_PAD_REFLECT_1D:
    case GGML_OP_REPEAT:
    case GGML_OP_REPEAT_BACK:
    case GGML_OP_RMS_NORM:
    case GGML_OP_ROLL:
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK:
    case GGML_OP_SCALE:
    case GGML_OP_SET:
    case GGML_OP_SET_ROWS:
    case GGML_OP_SIN:
    case GGML_OP_SOLVE_TRI:
    case GGML_OP_SQR:
    case GGML_OP_SQRT:
    case GGML_OP_SUB:
    case GGML_OP_SUM:
    case GGML_OP_SUM_ROWS:
    case GGML_OP_TRI:
    case GGML_OP_UNARY:
    case GGML_OP_UPSCALE: return true;
    default: return false;
    }
}

// Sums and scales behind a product are computed in its shader, and sums of sums in one of their own: those bind their operands as they are.
bool may_be_fused(const ggml_tensor &node) {
    for (const ggml_tensor *source : node.src) {
        if (source == nullptr) continue;
        if (source->op == GGML_OP_MUL_MAT || source->op == GGML_OP_MUL_MAT_ID) return true;
        if (source->op == GGML_OP_ADD || source->op == GGML_OP_ADD_ID) return true;
    }
    return false;
}

// The shaders step over whole elements or blocks from an aligned address on. The nearest such address need not be a whole number of
// them behind; ggml-vulkan goes back from one to the next, and asserts that it comes to one before the buffer begins.
bool lies_whole_elements_behind_alignment(const ggml_tensor &tensor) {
    const auto offset = reinterpret_cast<uintptr_t>(tensor.data) - reinterpret_cast<uintptr_t>(ggml_backend_buffer_get_base(tensor.buffer));
    const size_t alignment = ggml_backend_buffer_get_alignment(tensor.buffer);
    const size_t size = ggml_type_size(tensor.type);
    size_t behind = offset % alignment;
    // As many steps as there are remainders.
    for (size_t steps = 0; behind % size != 0; ++steps, behind += alignment)
        if (steps == size || behind + alignment > offset) return false;
    return true;
}

bool is_bindable(const ggml_tensor &tensor, bool misaligned_too) {
    if (misaligned_too) return lies_whole_elements_behind_alignment(tensor);
    return reinterpret_cast<uintptr_t>(tensor.data) % ggml_backend_buffer_get_alignment(tensor.buffer) == 0;
}

bool counts_in_elements(const ggml_tensor &tensor) {
    for (size_t stride : tensor.nb)
        if (stride % ggml_type_size(tensor.type) != 0) return false;
    return true;
}

// Convolutions assert that a row's elements lie side by side, of a row of one as well.
bool needs_dense_rows(ggml_op op) {
    switch (op) {
    case GGML_OP_CONV_2D:
    case GGML_OP_CONV_3D:
    case GGML_OP_CONV_TRANSPOSE_1D:
    case GGML_OP_CONV_TRANSPOSE_2D:
    case GGML_OP_IM2COL:
    case GGML_OP_IM2COL_3D:
    case GGML_OP_SSM_CONV: return true;
    default: return false;
    }
}

bool has_dense_rows(const ggml_tensor &node) {
    for (const ggml_tensor *source : node.src)
        if (source != nullptr && source->nb[0] != ggml_type_size(source->type)) return false;
    return node.nb[0] == ggml_type_size(node.type);
}

bool fits(const ggml_tensor &tensor, bool misaligned_too) {
    return is_bindable(tensor, misaligned_too) && counts_in_elements(tensor);
}

// What ggml-vulkan calls contiguous enough for a matrix, batch by batch.
bool has_packed_rows(const ggml_tensor &tensor) {
    return tensor.nb[0] == ggml_type_size(tensor.type) && tensor.nb[1] == ggml_row_size(tensor.type, tensor.ne[0]) &&
           (tensor.ne[3] == 1 || tensor.nb[3] == tensor.nb[2] * static_cast<size_t>(tensor.ne[2]));
}

bool is_k_quant(ggml_type type) { return type >= GGML_TYPE_Q2_K && type <= GGML_TYPE_Q6_K; }

// Then the weights are made numbers by a shader of its own.
bool dequantizes_k_quants(const ggml_tensor &node) {
    const bool product = node.op == GGML_OP_MUL_MAT || node.op == GGML_OP_MUL_MAT_ID;
    return product && is_k_quant(node.src[0]->type) && !has_packed_rows(*node.src[1]);
}

// Mesa's driver for a GPU of software.
bool is_lavapipe(ggml_backend_dev_t device) { return std::strstr(ggml_backend_dev_description(device), "llvmpipe") != nullptr; }

} // namespace

bool has_vulkan_kernels(ggml_backend_dev_t device) {
    return std::strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), "Vulkan") == 0;
}

bool has_vulkan_shader(const ggml_tensor &node, ggml_backend_dev_t device) {
    // Numbers of eight bytes are said to be copied, and asserted not to be.
    const bool copies = node.op == GGML_OP_CPY || node.op == GGML_OP_CONT || node.op == GGML_OP_DUP;
    if (copies && ggml_type_size(node.type) == 8 && !ggml_is_quantized(node.type)) return false;
    if (needs_dense_rows(node.op) && !has_dense_rows(node)) return false;
    // It dies while it compiles that shader (Mesa 25).
    return !dequantizes_k_quants(node) || !is_lavapipe(device);
}

bool has_vulkan_layout(const ggml_tensor &node) {
    const bool misaligned_too = steps_over_misalignment(node.op) && !may_be_fused(node);
    for (const ggml_tensor *source : node.src)
        if (source != nullptr && !fits(*source, misaligned_too)) return false;
    return fits(node, misaligned_too);
}

} // namespace apir::host
