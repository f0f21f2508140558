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

// Of numbers, the shaders count whole ones; blocks are taken wherever they begin.
bool is_bindable(const ggml_tensor &tensor, bool misaligned_too) {
    const size_t behind = reinterpret_cast<uintptr_t>(tensor.data) % ggml_backend_buffer_get_alignment(tensor.buffer);
    if (behind == 0 || !misaligned_too) return behind == 0;
    return ggml_is_quantized(tensor.type) || behind % ggml_type_size(tensor.type) == 0;
}

bool counts_in_elements(const ggml_tensor &tensor) {
    for (size_t stride : tensor.nb)
        if (stride % ggml_type_size(tensor.type) != 0) return false;
    return true;
}

// Numbers of eight bytes are moved as two of four, which only works for all of them at once.
bool is_movable(const ggml_tensor &tensor) { return ggml_type_size(tensor.type) != 8 || ggml_is_quantized(tensor.type) || ggml_is_contiguous(&tensor); }

bool fits(const ggml_tensor &tensor, bool misaligned_too) {
    return is_bindable(tensor, misaligned_too) && counts_in_elements(tensor) && is_movable(tensor);
}

} // namespace

bool has_vulkan_kernels(ggml_backend_dev_t device) {
    return std::strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), "Vulkan") == 0;
}

bool has_vulkan_layout(const ggml_tensor &node) {
    const bool misaligned_too = steps_over_misalignment(node.op) && !may_be_fused(node);
    for (const ggml_tensor *source : node.src)
        if (source != nullptr && !fits(*source, misaligned_too)) return false;
    return fits(node, misaligned_too);
}

} // namespace apir::host
