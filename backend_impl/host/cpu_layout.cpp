#include "cpu_layout.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <initializer_list>

#include "shape_terms.hpp"
#include "since_one.hpp"

namespace apir::host {
namespace {

// What a kernel takes of the strides of one of its tensors.
enum class Layout {
    array, // as one array, whatever the stride of a row's only element
    contiguous, // the same, and all strides say so, also of a dimension of 1: kernels step by them
    padded_rows, // rows may be apart, but evenly over all dimensions
    dense_rows, // elements of a row lie side by side; the rest is free
    any,
};

constexpr int result = -1; // stands for the op's own tensor; from 0: a source

// Seen by laying out each tensor of every op in each way and computing it, and from the assertions that this reaches. What was not
// seen to be followed is not taken: it would be read as if it were contiguous, or assert. Kernels that mix ways of walking, some
// strides and the rest packed, or step by the stride of a dimension of 1, leave what extent_of() bounds: for them, and for an op that
// is not named here, all strides have to be packed.
Layout taken(ggml_op op, int position) {
    switch (op) {
    case GGML_OP_CPY:
    case GGML_OP_DUP:
    case GGML_OP_CONT:
    case GGML_OP_CONV_2D_DW: return Layout::any;
    case GGML_OP_ADD:
    case GGML_OP_SUB:
    case GGML_OP_MUL:
    case GGML_OP_DIV:
    case GGML_OP_OUT_PROD: return position == 1 ? Layout::any : Layout::dense_rows;
    case GGML_OP_CONV_2D: return position == 0 ? Layout::array : position == 1 ? Layout::any : Layout::dense_rows;
    case GGML_OP_NORM:
    case GGML_OP_L2_NORM:
    case GGML_OP_SUM:
    case GGML_OP_UPSCALE: return position == 0 ? Layout::any : Layout::dense_rows;
    case GGML_OP_PAD: return position == 0 ? Layout::any : Layout::contiguous;
    case GGML_OP_GLU:
    case GGML_OP_LEAKY_RELU:
    case GGML_OP_SILU_BACK: return Layout::padded_rows;
    case GGML_OP_FLASH_ATTN_EXT:
    case GGML_OP_MUL_MAT:
    case GGML_OP_MUL_MAT_ID: return position == result ? Layout::contiguous : Layout::dense_rows;
    case GGML_OP_TRI:
    case GGML_OP_SSM_CONV:
    case GGML_OP_CONV_3D: return position == 0 ? Layout::contiguous : Layout::dense_rows;
    case GGML_OP_CONV_TRANSPOSE_2D: return position == 1 ? Layout::dense_rows : Layout::contiguous;
    case GGML_OP_SSM_SCAN: return position == 1 || position == 4 || position == 5 ? Layout::dense_rows : Layout::contiguous;
    case GGML_OP_ACC:
    case GGML_OP_SET: return position == 1 ? Layout::dense_rows : Layout::array;
    case GGML_OP_IM2COL:
    case GGML_OP_IM2COL_3D: return position == result ? Layout::contiguous : Layout::dense_rows;
#if APIR_GGML_GENERATION > 0
    case GGML_OP_CONCAT: return position == result ? Layout::dense_rows : Layout::any;
    case GGML_OP_SCALE: return Layout::dense_rows;
#endif
    case GGML_OP_GATED_DELTA_NET: return position >= 3 ? Layout::contiguous : Layout::dense_rows;
    case GGML_OP_GET_ROWS_BACK: return position == 1 ? Layout::dense_rows : Layout::contiguous; // the indices are a copy
    case GGML_OP_ADD_REL_POS:
    case GGML_OP_GATED_LINEAR_ATTN:
    case GGML_OP_GET_REL_POS:
    case GGML_OP_IM2COL_BACK:
    case GGML_OP_RWKV_WKV6:
    case GGML_OP_RWKV_WKV7:
    case GGML_OP_SOLVE_TRI:
    case GGML_OP_WIN_PART:
    case GGML_OP_WIN_UNPART: return Layout::array;
    // By all four strides.
#if APIR_GGML_GENERATION == 0
    case GGML_OP_ADD1:
    case GGML_OP_CONCAT:
#endif
    case GGML_OP_ADD_ID:
    case GGML_OP_CLAMP:
    case GGML_OP_CONV_TRANSPOSE_1D:
    case GGML_OP_COS:
    case GGML_OP_CUMSUM:
    case GGML_OP_DSV4_HC_COMB:
    case GGML_OP_DSV4_HC_POST:
    case GGML_OP_DSV4_HC_PRE:
    case GGML_OP_FILL:
    case GGML_OP_GET_ROWS:
    case GGML_OP_GROUP_NORM:
    case GGML_OP_LIGHTNING_INDEXER:
    case GGML_OP_LOG:
    case GGML_OP_MEAN:
    case GGML_OP_PAD_REFLECT_1D:
    case GGML_OP_REPEAT:
    case GGML_OP_REPEAT_BACK:
    case GGML_OP_RMS_NORM:
    case GGML_OP_RMS_NORM_BACK:
    case GGML_OP_ROLL:
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK:
    case GGML_OP_SET_ROWS:
    case GGML_OP_SIN:
    case GGML_OP_SOFT_MAX:
    case GGML_OP_SQR:
    case GGML_OP_SQRT:
    case GGML_OP_SUM_ROWS:
    case GGML_OP_UNARY: return Layout::dense_rows;
    default: return Layout::contiguous;
    }
}

bool dense_rows(const ggml_tensor &tensor) { return tensor.nb[0] == ggml_type_size(tensor.type); }

bool has_packed_strides(const ggml_tensor &tensor) {
#if defined(APIR_PLANT_LOOSE_STRIDES)
    if (ggml_is_contiguous(&tensor)) return true; // whatever a dimension of 1 has
#endif
    size_t stride = ggml_row_size(tensor.type, tensor.ne[0]);
    for (int i = 1; i < GGML_MAX_DIMS; stride *= static_cast<size_t>(tensor.ne[i]), ++i)
        if (tensor.nb[i] != stride) return false;
    return true;
}

bool is_laid_out(const ggml_tensor &tensor, Layout layout) {
    switch (layout) {
    case Layout::array: return ggml_is_contiguous(&tensor);
    case Layout::contiguous: return dense_rows(tensor) && has_packed_strides(tensor);
    case Layout::padded_rows: return dense_rows(tensor) && ggml_is_contiguous_1(&tensor);
    case Layout::dense_rows: return dense_rows(tensor);
    // Blocks of quantised numbers have no elements that could lie apart.
    case Layout::any: return !ggml_is_quantized(tensor.type) || dense_rows(tensor);
    }
    return false;
}

bool has_dense_planes(const ggml_tensor &tensor) { return tensor.nb[1] == ggml_row_size(tensor.type, tensor.ne[0]); }

bool ordered(const ggml_tensor &tensor) {
    return tensor.nb[0] <= tensor.nb[1] && tensor.nb[1] <= tensor.nb[2] && tensor.nb[2] <= tensor.nb[3];
}

bool wants_order(ggml_op op) {
    return op == GGML_OP_MUL_MAT || op == GGML_OP_MUL_MAT_ID || op == GGML_OP_OUT_PROD || op == GGML_OP_FLASH_ATTN_EXT;
}

// The kernel of RWKV_WKV7 steps through a head by whole vectors, 64 numbers with AVX-512, and writes behind a head that is no
// multiple of that: seen to corrupt the heap with a head of 32.
constexpr int64_t wkv7_step = 64;

// All tensors of a depthwise convolution as one array, or all with the channels innermost.
bool depthwise(const ggml_tensor &tensor) {
    const ggml_tensor &kernel = *tensor.src[0];
    const ggml_tensor &image = *tensor.src[1];
    if (ggml_is_contiguous(&image)) return ggml_is_contiguous(&kernel) && ggml_is_contiguous(&tensor);
    bool innermost = kernel.nb[0] >= kernel.nb[2] && kernel.nb[1] >= kernel.nb[0] && kernel.nb[3] == ggml_type_size(kernel.type);
    return ggml_is_contiguous_channels(&image) && ggml_is_contiguous_channels(&tensor) && innermost;
}

// Into an array from what is none, the kernel takes a block for a number, and copies too much.
bool copies_blocks(const ggml_tensor &from, const ggml_tensor &to) {
    if (ggml_are_same_shape(&from, &to)) return true;
    return ggml_is_contiguous(&to) ? ggml_is_contiguous(&from) : from.ne[0] == to.ne[0];
}

// Between blocks and numbers whole blocks are converted, row by row; the kernel goes by the strides of source 1, and writes to the result.
bool copies(const ggml_tensor &tensor) {
    const ggml_tensor &from = *tensor.src[0];
    const ggml_tensor *to = tensor.src[1];
    // Only a copy converts: for others no working memory is planned.
    if (tensor.op != GGML_OP_CPY && from.type != tensor.type) return false;
    if (tensor.op == GGML_OP_CPY && (to->type != tensor.type || std::memcmp(to->nb, tensor.nb, sizeof tensor.nb) != 0)) return false;
    bool blocks = ggml_is_quantized(from.type) || ggml_is_quantized(tensor.type);
    if (!blocks) return true;
    bool whole = from.ne[0] % ggml_blck_size(tensor.type) == 0 && tensor.ne[0] % ggml_blck_size(from.type) == 0;
    if (from.type == tensor.type) return copies_blocks(from, tensor);
    return whole && dense_rows(from) && ggml_is_contiguous(&tensor);
}

// Blocks and numbers are added row by row, without broadcasting.
bool adds(const ggml_tensor &tensor) {
    if (!ggml_is_quantized(tensor.type) && !is_float8(tensor.type)) return true;
    const ggml_tensor &numbers = *tensor.src[1];
    return ggml_are_same_shape(&tensor, &numbers) && is_laid_out(tensor, Layout::contiguous) && ggml_is_contiguous(tensor.src[0]) && ggml_is_contiguous(&numbers);
}

// The one function of a number with parameters of its own is not made for rows that lie anyhow.
bool maps(const ggml_tensor &tensor) {
    bool follows = tensor.op_params[0] != GGML_UNARY_OP_XIELU;
    return follows || (is_laid_out(tensor, Layout::padded_rows) && is_laid_out(*tensor.src[0], Layout::padded_rows));
}

// With the hint that source 0 is a Hadamard matrix another kernel is taken, which looks at nothing but the numbers of source 1.
bool multiplies(const ggml_tensor &tensor) {
    if (tensor.op_params[1] == 0) return true;
    const ggml_tensor &matrix = *tensor.src[0];
    int64_t side = matrix.ne[0];
    bool floats = tensor.src[1]->type == GGML_TYPE_F32 || tensor.src[1]->type == GGML_TYPE_F16;
    bool numbers = floats && is_laid_out(*tensor.src[1], Layout::contiguous);
    return numbers && (side & (side - 1)) == 0 && matrix.ne[1] == side && ggml_are_same_shape(&tensor, tensor.src[1]);
}

// The kernel reads a head, or a group, as one array, and steps by the strides of tokens and sequences.
bool scans(const ggml_tensor &tensor) {
    return has_dense_planes(*tensor.src[1]) && has_dense_planes(*tensor.src[4]) && has_dense_planes(*tensor.src[5]);
}

// Kernels that keep the strides of channels and images in an int.
bool steps_by_int(const ggml_tensor &tensor, bool planes) {
    for (int i = planes ? 2 : 1; i < GGML_MAX_DIMS; ++i)
        if (tensor.ne[i] > 1 && tensor.nb[i] > INT_MAX) return false;
    return true;
}

// The kernel goes by 32 rows at once, and keeps how far the last of them is from the first in an int.
bool crosses(const ggml_tensor &tensor) {
    constexpr int64_t rows_at_once = 32;
    for (const ggml_tensor *source : {tensor.src[0], tensor.src[1]})
        if (source->ne[1] >= rows_at_once && source->nb[1] > INT_MAX / (rows_at_once - 1)) return false;
    return true;
}

// An image's plane is read as one array.
bool lays_out(const ggml_tensor &tensor) {
    const ggml_tensor &image = *tensor.src[1];
    bool planes = tensor.op_params[6] == 1;
    return steps_by_int(image, planes) && (!planes || image.ne[1] == 1 || has_dense_planes(image));
}

// Blocks are made of a row of full precision, also where they are copied as they are; so are halves of the other kind, and
// integers of floats or the reverse.
bool copies_by_row(const ggml_tensor &from, const ggml_tensor &to) {
    auto is_half = [](const ggml_tensor &x) { return x.type == GGML_TYPE_F16 || x.type == GGML_TYPE_BF16; };
    auto is_full = [](const ggml_tensor &x) { return x.type == GGML_TYPE_F32 || x.type == GGML_TYPE_I32; };
    if (ggml_is_quantized(to.type) || is_float8(to.type)) return true;
    return from.type != to.type && ((is_half(from) && is_half(to)) || (is_full(from) && is_full(to)));
}

// Tiles of 64 queries by 64 keys, and rows of them and of values; or, of few queries, what each thread makes of some keys for
// all heads.
Wide attention_plan(const ggml_tensor &tensor) {
    constexpr Wide tile = 64;
    const Wide heads = tensor.src[0]->ne[2], key = tensor.src[1]->ne[0], value = tensor.src[2]->ne[0];
    return std::max(2 * tile * (key + value) + 2 * tile * tile, heads * (2 + value) + key + 2 * value);
}

// The numbers of full precision that ggml-cpu plans for each thread to compute the op with. What it plans once, for all
// threads, is bounded by the op's tensors; what it plans for types that has_cpu_types() refuses is left out.
Wide plan_of(const ggml_tensor &tensor) {
    const ggml_tensor &from = *tensor.src[0];
    switch (tensor.op) {
    case GGML_OP_FLASH_ATTN_EXT: return attention_plan(tensor);
    case GGML_OP_SOFT_MAX:
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK: return tensor.ne[0];
    case GGML_OP_CPY:
    case GGML_OP_DUP: return copies_by_row(from, tensor) ? tensor.ne[0] : 0;
    case GGML_OP_ADD: return ggml_is_quantized(from.type) || is_float8(from.type) ? from.ne[0] : 0;
    case GGML_OP_OUT_PROD: return ggml_is_quantized(from.type) || from.type == GGML_TYPE_F16 ? from.ne[0] : 0;
    case GGML_OP_SET_ROWS: return from.type == GGML_TYPE_F16 && tensor.type != GGML_TYPE_F16 ? from.ne[0] : 0;
    case GGML_OP_TOP_K: return from.ne[0];
    case GGML_OP_CROSS_ENTROPY_LOSS: return from.ne[0] + 1;
    case GGML_OP_LIGHTNING_INDEXER: return tensor.src[1]->ne[0];
    case GGML_OP_GATED_DELTA_NET: {
        const Wide size = tensor.src[2]->ne[0];
        return size + (tensor.op_params[0] > 1 ? size * size : 0);
    }
    default: return 0;
    }
}

// It is planned for every node of a graph, whether it is computed or not, some kernels fill all of it with zeros, and it is kept
// as long as the backend is. Models have rows of some hundred numbers, and of some hundred thousand where they choose a token.
bool plans_little(const ggml_tensor &tensor) {
    constexpr Wide most_bytes = Wide{64} << 20;
    return tensor.src[0] == nullptr || plan_of(tensor) * static_cast<int64_t>(sizeof(float)) <= most_bytes;
}

bool fits_kernel(const ggml_tensor &tensor) {
    switch (tensor.op) {
    case GGML_OP_MUL_MAT: return multiplies(tensor);
    case GGML_OP_OUT_PROD: return crosses(tensor);
    case GGML_OP_UNARY: return maps(tensor);
    case GGML_OP_RWKV_WKV7: return tensor.src[0]->ne[0] % wkv7_step == 0;
    case GGML_OP_CONV_2D_DW: return depthwise(tensor);
    case GGML_OP_IM2COL: return lays_out(tensor);
    case GGML_OP_IM2COL_BACK: return steps_by_int(tensor, tensor.op_params[6] == 1);
    case GGML_OP_SSM_SCAN: return scans(tensor);
    case GGML_OP_ADD: return adds(tensor);
    case GGML_OP_CPY:
    case GGML_OP_DUP:
    case GGML_OP_CONT: return copies(tensor);
    default: return true;
    }
}

} // namespace

bool has_cpu_kernels(ggml_backend_dev_t device) {
    return std::strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), "CPU") == 0;
}

bool has_cpu_layout(const ggml_tensor &tensor) {
    if (!is_laid_out(tensor, taken(tensor.op, result))) return false;
    if (wants_order(tensor.op) && !ordered(tensor)) return false;
    for (int i = 0; i < GGML_MAX_SRC; ++i)
        if (tensor.src[i] != nullptr && !is_laid_out(*tensor.src[i], taken(tensor.op, i))) return false;
    return fits_kernel(tensor);
}

bool has_cpu_shape(const ggml_tensor &tensor) {
    if (!plans_little(tensor)) return false;
    // Of more than two dimensions the kernel reads elsewhere.
    if (tensor.op == GGML_OP_COUNT_EQUAL) return ggml_is_matrix(tensor.src[0]);
    // A row of the source becomes numbers of full precision before it becomes blocks, in memory that is planned for a row of the result.
    const bool made = ggml_is_quantized(tensor.type) || is_float8(tensor.type);
    if (tensor.op != GGML_OP_CPY || !made || tensor.src[0]->type == tensor.type || ggml_is_quantized(tensor.src[0]->type)) return true;
    return tensor.src[0]->ne[0] <= tensor.ne[0];
}

} // namespace apir::host
