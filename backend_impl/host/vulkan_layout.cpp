#include "vulkan_layout.hpp"

#include <cstring>

namespace apir::host {
namespace {

// Ops that were seen to assert it. Most others step over what lies between an aligned address and a tensor's beginning.
bool wants_aligned(ggml_op op) {
    return op == GGML_OP_ARGMAX || op == GGML_OP_CONV_TRANSPOSE_1D || op == GGML_OP_GROUP_NORM || op == GGML_OP_IM2COL;
}

bool is_aligned(const ggml_tensor &tensor) {
    return reinterpret_cast<uintptr_t>(tensor.data) % ggml_backend_buffer_get_alignment(tensor.buffer) == 0;
}

} // namespace

bool has_vulkan_kernels(ggml_backend_dev_t device) {
    return std::strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), "Vulkan") == 0;
}

bool has_vulkan_layout(const ggml_tensor &node) {
    if (!wants_aligned(node.op)) return true;
    for (const ggml_tensor *source : node.src)
        if (source != nullptr && !is_aligned(*source)) return false;
    return is_aligned(node);
}

} // namespace apir::host
