#include "vulkan_layout.hpp"

#include <cstring>

namespace apir::host {
namespace {

// Ops that step over what lies between an aligned address and a tensor's beginning; the others assert that there is nothing.
bool steps_over(ggml_op op) {
    switch (op) {
    case GGML_OP_ACC:
    case GGML_OP_ADD:
    case GGML_OP_CLAMP:
    case GGML_OP_CONCAT:
    case GGML_OP_CONT:
    case GGML_OP_COS:
    case GGML_OP_CPY:
    case GGML_OP_DIV:
    case GGML_OP_DUP:
    case GGML_OP_GET_ROWS:
    case GGML_OP_MEAN:
    case GGML_OP_MUL:
    case GGML_OP_REPEAT:
    case GGML_OP_REPEAT_BACK:
    case GGML_OP_RMS_NORM:
    case GGML_OP_SCALE:
    case GGML_OP_SET_ROWS:
    case GGML_OP_SIN:
    case GGML_OP_SQR:
    case GGML_OP_SQRT:
    case GGML_OP_SUB:
    case GGML_OP_SUM_ROWS: return true;
    default: return false;
    }
}

bool is_aligned(const ggml_tensor &tensor) {
    return reinterpret_cast<uintptr_t>(tensor.data) % ggml_backend_buffer_get_alignment(tensor.buffer) == 0;
}

} // namespace

bool has_vulkan_kernels(ggml_backend_dev_t device) {
    return std::strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), "Vulkan") == 0;
}

bool has_vulkan_layout(const ggml_tensor &node) {
    if (steps_over(node.op)) return true;
    for (const ggml_tensor *source : node.src)
        if (source != nullptr && !is_aligned(*source)) return false;
    return is_aligned(node);
}

} // namespace apir::host
