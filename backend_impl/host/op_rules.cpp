#include "op_rules.hpp"

#include <array>

#include "cpu_layout.hpp"
#include "cuda_layout.hpp"
#include "op_shapes.hpp"
#include "refusal.hpp"
#include "since_one.hpp"
#include "vulkan_layout.hpp"

namespace apir::host {
namespace {

struct Rule {
    ggml_op op;
    int sources; // the first so many have to be there
};

// Sources as ggml's own constructors set them; optional ones (masks, sinks, frequencies) are not counted.
constexpr std::array<Rule, GGML_OP_COUNT - 4> rules{{
    {GGML_OP_NONE, 0}, {GGML_OP_DUP, 1}, {GGML_OP_ADD, 2}, {GGML_OP_ADD_ID, 3}, {GGML_OP_ACC, 2},
    {GGML_OP_SUB, 2}, {GGML_OP_MUL, 2}, {GGML_OP_DIV, 2}, {GGML_OP_SQR, 1}, {GGML_OP_SQRT, 1}, {GGML_OP_LOG, 1},
    {GGML_OP_SIN, 1}, {GGML_OP_COS, 1}, {GGML_OP_SUM, 1}, {GGML_OP_SUM_ROWS, 1}, {GGML_OP_CUMSUM, 1}, {GGML_OP_MEAN, 1},
    {GGML_OP_ARGMAX, 1}, {GGML_OP_COUNT_EQUAL, 2}, {GGML_OP_REPEAT, 1}, {GGML_OP_REPEAT_BACK, 1}, {GGML_OP_CONCAT, 2},
    {GGML_OP_SILU_BACK, 2}, {GGML_OP_NORM, 1}, {GGML_OP_RMS_NORM, 1}, {GGML_OP_RMS_NORM_BACK, 2}, {GGML_OP_GROUP_NORM, 1},
    {GGML_OP_L2_NORM, 1}, {GGML_OP_MUL_MAT, 2}, {GGML_OP_MUL_MAT_ID, 3}, {GGML_OP_OUT_PROD, 2}, {GGML_OP_SCALE, 1},
    {GGML_OP_SET, 2}, {GGML_OP_CPY, 2}, {GGML_OP_CONT, 1}, {GGML_OP_RESHAPE, 1}, {GGML_OP_VIEW, 1}, {GGML_OP_PERMUTE, 1},
    {GGML_OP_TRANSPOSE, 1}, {GGML_OP_GET_ROWS, 2}, {GGML_OP_GET_ROWS_BACK, 2}, {GGML_OP_SET_ROWS, 2}, {GGML_OP_DIAG, 1},
    {GGML_OP_SOFT_MAX, 1}, {GGML_OP_SOFT_MAX_BACK, 2},
    {GGML_OP_ROPE, 2}, {GGML_OP_ROPE_BACK, 2}, {GGML_OP_CLAMP, 1}, {GGML_OP_CONV_TRANSPOSE_1D, 2}, {GGML_OP_IM2COL, 2},
    {GGML_OP_IM2COL_BACK, 2}, {GGML_OP_IM2COL_3D, 2}, {GGML_OP_COL2IM_1D, 1}, {GGML_OP_CONV_2D, 2}, {GGML_OP_CONV_3D, 2},
    {GGML_OP_CONV_2D_DW, 2}, {GGML_OP_CONV_TRANSPOSE_2D, 2}, {GGML_OP_POOL_1D, 1}, {GGML_OP_POOL_2D, 1},
    {GGML_OP_POOL_2D_BACK, 2}, {GGML_OP_UPSCALE, 1}, {GGML_OP_PAD, 1}, {GGML_OP_PAD_REFLECT_1D, 1}, {GGML_OP_ROLL, 1},
    {GGML_OP_ARANGE, 0}, {GGML_OP_TIMESTEP_EMBEDDING, 1}, {GGML_OP_ARGSORT, 1}, {GGML_OP_TOP_K, 1}, {GGML_OP_LEAKY_RELU, 1},
    {GGML_OP_TRI, 1}, {GGML_OP_FILL, 1}, {GGML_OP_FLASH_ATTN_EXT, 3}, {GGML_OP_FLASH_ATTN_BACK, 4}, {GGML_OP_SSM_CONV, 2},
    {GGML_OP_SSM_SCAN, 7}, {GGML_OP_WIN_PART, 1}, {GGML_OP_WIN_UNPART, 1}, {GGML_OP_GET_REL_POS, 1}, {GGML_OP_ADD_REL_POS, 3},
    {GGML_OP_RWKV_WKV6, 6}, {GGML_OP_GATED_LINEAR_ATTN, 5}, {GGML_OP_RWKV_WKV7, 7}, {GGML_OP_SOLVE_TRI, 2},
    {GGML_OP_GATED_DELTA_NET, 6}, {GGML_OP_LIGHTNING_INDEXER, 4}, {GGML_OP_DSV4_HC_COMB, 3}, {GGML_OP_DSV4_HC_PRE, 2},
    {GGML_OP_DSV4_HC_POST, 3}, {GGML_OP_UNARY, 1}, {GGML_OP_CROSS_ENTROPY_LOSS, 2}, {GGML_OP_CROSS_ENTROPY_LOSS_BACK, 3},
    {GGML_OP_OPT_STEP_ADAMW, 5}, {GGML_OP_OPT_STEP_SGD, 3}, {GGML_OP_GLU, 1},
#if APIR_GGML_GENERATION == 0
    {GGML_OP_ADD1, 2}, {GGML_OP_DIAG_MASK_INF, 1}, {GGML_OP_DIAG_MASK_ZERO, 1},
#else
    {GGML_OP_TOP_K_MASK, 2},
#endif
}};

// By op; -1 for the ops without a rule: MAP_CUSTOM1 to 3 and CUSTOM carry function pointers of the guest in their parameters,
// and an op newer than this table is not known to be harmless.
constexpr std::array<int, GGML_OP_COUNT> required_sources() {
    std::array<int, GGML_OP_COUNT> required{};
    for (int &sources : required) sources = -1;
    for (const Rule &rule : rules) required[rule.op] = rule.sources;
    return required;
}
constexpr std::array<int, GGML_OP_COUNT> required = required_sources();
constexpr int count_refused() {
    int count = 0;
    for (int sources : required) count += sources < 0 ? 1 : 0;
    return count;
}
static_assert(count_refused() == 4, "an op of ggml has no rule");
static_assert(required[GGML_OP_MAP_CUSTOM1] == -1 && required[GGML_OP_MAP_CUSTOM2] == -1 &&
              required[GGML_OP_MAP_CUSTOM3] == -1 && required[GGML_OP_CUSTOM] == -1);

// Ops for which a source without elements is nothing unusual.
bool takes_nothing(ggml_op op) { return op == GGML_OP_CONCAT || op == GGML_OP_SET_ROWS || op == GGML_OP_CONV_3D; }

// By numbers of rows, cells and blocks, of which only ggml-cpu is known to look at each, or is given those that were looked at.
bool goes_by_numbers_of_new_ops(const ggml_tensor &tensor) {
#if APIR_GGML_GENERATION > 0
    if (tensor.op == GGML_OP_TOP_K_MASK) return true;
#endif
    return has_kv_rows(tensor);
}

bool is_empty(const ggml_tensor &tensor) {
    for (int64_t n : tensor.ne)
        if (n == 0) return true;
    return false;
}

void check_sub_op(const ggml_tensor &tensor, int count) {
    if (tensor.op_params[0] < 0 || tensor.op_params[0] >= count)
        refuse("%s has no operation %d", ggml_op_name(tensor.op), tensor.op_params[0]);
}

} // namespace

bool is_view_op(ggml_op op) {
    return op == GGML_OP_NONE || op == GGML_OP_RESHAPE || op == GGML_OP_VIEW || op == GGML_OP_PERMUTE || op == GGML_OP_TRANSPOSE;
}

void complete_cast(ggml_tensor &tensor) {
    if (tensor.op == GGML_OP_CPY && tensor.src[0] != nullptr && tensor.src[1] == nullptr) tensor.src[1] = &tensor;
}

void check_op(const ggml_tensor &tensor, ggml_backend_dev_t device) {
    int sources = required[tensor.op];
    if (sources < 0) refuse("op %s cannot be remoted", ggml_op_name(tensor.op));
    for (int i = 0; i < sources; ++i)
        if (tensor.src[i] == nullptr) refuse("%s lacks source %d", ggml_op_name(tensor.op), i);
    if (tensor.op == GGML_OP_UNARY) check_sub_op(tensor, GGML_UNARY_OP_COUNT);
    if (tensor.op == GGML_OP_GLU) check_sub_op(tensor, GGML_GLU_OP_COUNT);
    if (is_view_op(tensor.op)) return;
    if (goes_by_numbers_of_new_ops(tensor) && !ggml_backend_buft_is_host(ggml_backend_dev_buffer_type(device)))
        refuse("%s by numbers that the host cannot read", ggml_op_name(tensor.op));
    // Of every device: those of GPUs say that they compute what they then assert against, and what they do compute, ggml-cpu does too.
    if (!(has_cpu_kernels(device) ? has_cpu_types(tensor) : has_gpu_types(tensor)))
        refuse("%s of types that ggml has no kernel for", ggml_op_name(tensor.op));
    if (!has_cpu_layout(tensor)) refuse("%s of strides that ggml has no kernel for", ggml_op_name(tensor.op));
    const bool shaped = has_consistent_shapes(tensor) && (!has_cpu_kernels(device) || has_cpu_shape(tensor));
    if (!shaped) refuse("%s of tensors whose shapes or parameters do not fit", ggml_op_name(tensor.op));
    if (has_vulkan_kernels(device) && !has_vulkan_shader(tensor, device))
        refuse("%s of types, strides or sizes that the device has no shader for", ggml_op_name(tensor.op));
    if (has_cuda_kernels(device) && !has_cuda_kernel(tensor))
        refuse("%s of types, strides or sizes that the device has no kernel for", ggml_op_name(tensor.op));
    if (takes_nothing(tensor.op) || is_empty(tensor)) return;
    // Broadcasting takes remainders by the source's dimensions.
    for (const ggml_tensor *source : tensor.src)
        if (source != nullptr && is_empty(*source)) refuse("%s of nothing", ggml_op_name(tensor.op));
}

} // namespace apir::host
