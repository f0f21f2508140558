#include "op_shapes.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "shape_rules.hpp"
#include "shape_terms.hpp"
#include "since_one.hpp"

namespace apir::host {
namespace {

using T = const ggml_tensor &;
using Rule = bool (*)(T);

// Short names, for the table below is read as formulas: the tensor t, its sources a, b and c, its parameters p.
T a(T t) { return *t.src[0]; }
T b(T t) { return *t.src[1]; }
T c(T t) { return *t.src[2]; }

bool like_source(T t) { return same(t, a(t)); }
bool as_many(T t) { return elements(t) == elements(a(t)); }
bool broadcast(T t) { return same(t, a(t)) && repeats(b(t), a(t)); }
bool like_both(T t) { return same(t, a(t)) && same(t, b(t)); }
bool per_row(T t) { return is_shape(t, 1, a(t).ne[1], a(t).ne[2], a(t).ne[3]); }

bool copy(T t) { return as_many(t) && same(t, b(t)); }
bool norm(T t) { return like_source(t) && float_parameter(t, 0) >= 0; }
// More groups than channels would be empty ones, of which a GPU starts as many all the same. ggml adds the two up as `int`.
bool group_norm(T t) {
    return like_source(t) && t.op_params[0] > 0 && t.op_params[0] <= t.ne[2] && t.ne[2] + t.op_params[0] <= INT32_MAX && float_parameter(t, 1) >= 0;
}
#if APIR_GGML_GENERATION == 0
bool diag_mask(T t) { return like_source(t) && t.op_params[0] >= 0 && ggml_is_contiguous(&t) && ggml_is_contiguous(&a(t)); }
#endif
bool add_id(T t) {
    return like_source(t) && b(t).ne[0] == a(t).ne[0] && c(t).type == GGML_TYPE_I32 && c(t).ne[0] == a(t).ne[1] &&
           c(t).ne[1] == a(t).ne[2];
}
#if APIR_GGML_GENERATION == 0
bool add_one(T t) { return like_source(t) && elements(b(t)) == 1; }
#endif
bool arg_max(T t) {
    return is_shape(t, a(t).ne[1], 1, 1, 1) && is_shape(a(t), a(t).ne[0], a(t).ne[1], 1, 1) && t.type == GGML_TYPE_I32;
}
bool count_equal(T t) { return elements(t) == 1 && t.type == GGML_TYPE_I64 && same(a(t), b(t)); }
bool sum(T t) { return elements(t) == 1; }

// ACC and SET write b into t at strides and an offset that are parameters.
bool into_part(T t) {
    if (!same(t, a(t)) || elements(b(t)) > elements(t) || !ggml_is_contiguous(&t) || !ggml_is_contiguous(&a(t))) return false;
    Wide end = ggml_type_size(t.type) * static_cast<Wide>(b(t).ne[0]);
    for (int i = 1; i < GGML_MAX_DIMS; ++i) {
        if (t.op_params[i - 1] < 0) return false;
        end += static_cast<Wide>(b(t).ne[i] - 1) * t.op_params[i - 1];
    }
    return t.op_params[3] >= 0 && end + t.op_params[3] <= static_cast<Wide>(ggml_nbytes(&t));
}

bool concat(T t) {
    int32_t dimension = t.op_params[0];
    if (dimension < 0 || dimension >= GGML_MAX_DIMS || a(t).type != b(t).type || t.type != a(t).type) return false;
    for (int i = 0; i < GGML_MAX_DIMS; ++i)
        if (i == dimension ? t.ne[i] != a(t).ne[i] + b(t).ne[i] : t.ne[i] != a(t).ne[i] || t.ne[i] != b(t).ne[i]) return false;
    return true;
}

bool mul_mat(T t) {
    return a(t).ne[0] == b(t).ne[0] && divides(a(t).ne[2], b(t).ne[2]) && divides(a(t).ne[3], b(t).ne[3]) &&
           is_shape(t, a(t).ne[1], b(t).ne[1], b(t).ne[2], b(t).ne[3]);
}

// What ggml-cpu plans for every expert, and for each number that may choose it. 32768 tokens that take 16 of 512 experts ask for half of it.
constexpr Wide expert_bytes = 80, choice_bytes = 8, most_choosing_bytes = Wide{4} << 30;
// A cache line of that for each, and one more, are counted in an int.
constexpr int64_t most_experts = INT32_MAX / 64 - 1;

bool mul_mat_id(T t) {
    if (a(t).ne[2] > most_experts) return false;
    if (a(t).ne[2] * (expert_bytes + choice_bytes * elements(c(t))) > most_choosing_bytes) return false;
    return a(t).ne[0] == b(t).ne[0] && a(t).ne[3] == 1 && b(t).ne[3] == 1 && c(t).type == GGML_TYPE_I32 && c(t).ne[2] == 1 &&
           c(t).ne[3] == 1 && c(t).ne[1] == b(t).ne[2] && divides(b(t).ne[1], c(t).ne[0]) &&
           is_shape(t, a(t).ne[1], c(t).ne[0], b(t).ne[2], 1);
}

bool out_prod(T t) {
    return a(t).ne[1] == b(t).ne[1] && divides(a(t).ne[2], b(t).ne[2]) && divides(a(t).ne[3], b(t).ne[3]) &&
           is_shape(t, a(t).ne[0], b(t).ne[0], b(t).ne[2], b(t).ne[3]);
}

bool get_rows(T t) {
    return b(t).type == GGML_TYPE_I32 && b(t).ne[3] == 1 && a(t).ne[2] == b(t).ne[1] && a(t).ne[3] == b(t).ne[2] &&
           is_shape(t, a(t).ne[0], b(t).ne[0], b(t).ne[1], b(t).ne[2]);
}

bool get_rows_back(T t) { return b(t).type == GGML_TYPE_I32 && t.ne[0] == a(t).ne[0] && elements(b(t)) <= a(t).ne[1]; }

bool set_rows(T t) {
    bool indices = (b(t).type == GGML_TYPE_I64 || b(t).type == GGML_TYPE_I32) && b(t).ne[0] == a(t).ne[1] && b(t).ne[3] == 1;
    return indices && divides(b(t).ne[1], a(t).ne[2]) && divides(b(t).ne[2], a(t).ne[3]) && t.ne[0] == a(t).ne[0] &&
           t.ne[2] == a(t).ne[2] && t.ne[3] == a(t).ne[3];
}

bool diag(T t) { return a(t).ne[1] == 1 && is_shape(t, a(t).ne[0], a(t).ne[0], a(t).ne[2], a(t).ne[3]); }

bool soft_max(T t) {
    const ggml_tensor *mask = t.src[1];
    const ggml_tensor *sinks = t.src[2];
    if (mask != nullptr && (mask->ne[0] != a(t).ne[0] || mask->ne[1] < a(t).ne[1] || !divides(mask->ne[2], a(t).ne[2]) ||
                            !divides(mask->ne[3], a(t).ne[3])))
        return false;
    return like_source(t) && (sinks == nullptr || (sinks->ne[0] == a(t).ne[2] && sinks->type == GGML_TYPE_F32));
}

bool is_rope_mode(int32_t mode) {
    for (int32_t known : {0, GGML_ROPE_TYPE_NEOX, GGML_ROPE_TYPE_MROPE, GGML_ROPE_TYPE_VISION, GGML_ROPE_TYPE_IMROPE})
        if (mode == known) return true;
    return false;
}

bool rope(T t) {
    int32_t dimensions = t.op_params[1];
    int32_t mode = t.op_params[2];
    if (!is_rope_mode(mode)) return false;
    bool sections = (mode & GGML_ROPE_TYPE_MROPE) != 0;
    if (!like_source(t) || b(t).type != GGML_TYPE_I32 || b(t).ne[0] != a(t).ne[2] * (sections ? 4 : 1)) return false;
    if (a(t).ne[0] % 2 != 0) return false; // kernels go in pairs, past the row's end as well
    int64_t before = t.op_params[15]; // what of a row comes before what is turned
    if (dimensions <= 0 || dimensions % 2 != 0 || before < 0 || before % 2 != 0 || before + dimensions > a(t).ne[0]) return false;
    if (t.src[2] != nullptr && (c(t).type != GGML_TYPE_F32 || c(t).ne[0] < dimensions / 2)) return false;
    if (!sections) return true;
    int64_t sum_of_sections = 0;
    for (int i = 11; i < 15; ++i) {
        if (t.op_params[i] < 0) return false;
        sum_of_sections += t.op_params[i];
    }
    if (sum_of_sections == t.op_params[14]) return false; // one of the first three has to be there
    bool vision = mode != GGML_ROPE_TYPE_VISION || (dimensions == a(t).ne[0] / 2 && before == 0);
    return sum_of_sections <= a(t).ne[0] && vision;
}

bool flash_attention(T t) {
    T q = a(t), k = b(t), v = c(t);
    const ggml_tensor *mask = t.src[3];
    const ggml_tensor *sinks = t.src[4];
    bool heads = divides(k.ne[2], q.ne[2]) && divides(k.ne[3], q.ne[3]) && divides(v.ne[2], q.ne[2]) && divides(v.ne[3], q.ne[3]);
    // Of each slice of queries those rows of keys and values that it names, instead of all.
    const ggml_tensor *rows = has_kv_rows(t) ? t.src[5] : nullptr;
    if (rows != nullptr && (mask == nullptr || k.ne[3] != 1 || v.ne[3] != 1 || !is_shape(*rows, rows->ne[0], q.ne[3], 1, 1) || !ggml_is_contiguous(rows))) return false;
    const int64_t columns = rows != nullptr ? rows->ne[0] : k.ne[1];
    bool masked = mask == nullptr || (mask->type == GGML_TYPE_F16 && mask->ne[0] >= columns && mask->ne[1] >= q.ne[1] &&
                                      divides(mask->ne[2], q.ne[2]) && divides(mask->ne[3], q.ne[3]));
    bool sunk = sinks == nullptr || (sinks->type == GGML_TYPE_F32 && sinks->ne[0] == q.ne[2]);
    bool precision = t.op_params[3] == GGML_PREC_UNDEFINED || t.op_params[3] == GGML_PREC_F32 ||
                     (APIR_GGML_GENERATION > 0 && t.op_params[3] == GGML_PREC_BF16);
    if (!fits_int(q.ne[1], q.ne[2], q.ne[3])) return false; // what the kernel counts the rows of all heads in
    return precision && heads && masked && sunk && q.ne[0] == k.ne[0] && k.ne[1] == v.ne[1] && is_shape(t, v.ne[0], q.ne[2], q.ne[1], q.ne[3]);
}

bool gated(T t) {
    if (t.src[1] != nullptr) return like_both(t);
    return is_shape(t, a(t).ne[0] / 2, a(t).ne[1], a(t).ne[2], a(t).ne[3]);
}

// The kernels of transposed convolutions count the numbers of both in an int.
bool countable(T t) { return elements(a(t)) <= INT32_MAX && elements(b(t)) <= INT32_MAX; }

bool conv_transpose_1d(T t) {
    return t.op_params[0] > 0 && countable(t) && a(t).ne[2] == b(t).ne[1] && a(t).ne[3] == 1 && b(t).ne[2] == 1 &&
           b(t).ne[3] == 1 && is_shape(t, (b(t).ne[0] - 1) * t.op_params[0] + a(t).ne[0], a(t).ne[1], 1, 1);
}

bool conv_transpose_2d(T t) {
    int64_t stride = t.op_params[0];
    return stride > 0 && countable(t) && a(t).ne[3] == b(t).ne[2] &&
           is_shape(t, (b(t).ne[0] - 1) * stride + a(t).ne[0], (b(t).ne[1] - 1) * stride + a(t).ne[1], a(t).ne[2], b(t).ne[3]);
}

Window window(T t, int axis, int64_t kernel) { return {kernel, t.op_params[axis], t.op_params[2 + axis], t.op_params[4 + axis]}; }

bool im2col(T t) {
    int64_t wide = steps(b(t).ne[0], window(t, 0, a(t).ne[0]));
    if (t.op_params[6] != 1)
        return wide > 0 && a(t).ne[1] == b(t).ne[1] && b(t).ne[3] == 1 && is_shape(t, b(t).ne[1] * a(t).ne[0], wide, b(t).ne[2], 1);
    int64_t high = steps(b(t).ne[1], window(t, 1, a(t).ne[1]));
    return wide > 0 && high > 0 && a(t).ne[2] == b(t).ne[2] &&
           is_shape(t, b(t).ne[2] * a(t).ne[0] * a(t).ne[1], wide, high, b(t).ne[3]);
}

bool conv_2d(T t) {
    Wide numbers = Wide{a(t).ne[0]} * a(t).ne[1] * a(t).ne[2];
    return fits_work(a(t), numbers, a(t).ne[3]) && a(t).ne[2] == b(t).ne[2] && is_shape(t, steps(b(t).ne[0], window(t, 0, a(t).ne[0])),
                                                steps(b(t).ne[1], window(t, 1, a(t).ne[1])), a(t).ne[3], b(t).ne[3]);
}

bool conv_2d_depthwise(T t) {
    return a(t).ne[2] == 1 && a(t).ne[3] == b(t).ne[2] &&
           is_shape(t, steps(b(t).ne[0], window(t, 0, a(t).ne[0])), steps(b(t).ne[1], window(t, 1, a(t).ne[1])), b(t).ne[2],
                    b(t).ne[3]);
}

bool is_pool(int32_t kind) { return kind >= 0 && kind < GGML_OP_POOL_COUNT; }

bool pool_1d(T t) {
    const int32_t *p = t.op_params;
    return is_pool(p[0]) && is_shape(t, steps(a(t).ne[0], {p[1], p[2], p[3], 1}), a(t).ne[1], a(t).ne[2], a(t).ne[3]);
}

bool pool_2d(T t) {
    const int32_t *p = t.op_params;
    return is_pool(p[0]) &&
           is_shape(t, steps(a(t).ne[0], {p[1], p[3], p[5], 1}), steps(a(t).ne[1], {p[2], p[4], p[6], 1}), a(t).ne[2], a(t).ne[3]);
}

bool pad(T t) {
    bool circular = t.op_params[8] != 0; // goes around once before the first, as often as it takes behind the last
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        int64_t before = t.op_params[2 * i];
        int64_t after = t.op_params[2 * i + 1];
        if (before < 0 || after < 0 || t.ne[i] != a(t).ne[i] + before + after || (circular && before > a(t).ne[i])) return false;
    }
    return true;
}

bool pad_reflect(T t) {
    int64_t before = t.op_params[0];
    int64_t after = t.op_params[1];
    return before >= 0 && after >= 0 && before < a(t).ne[0] && after < a(t).ne[0] &&
           is_shape(t, a(t).ne[0] + before + after, a(t).ne[1], a(t).ne[2], a(t).ne[3]);
}

// Each shift is wrapped around once.
bool roll(T t) {
    for (int i = 0; i < GGML_MAX_DIMS; ++i)
        if (std::abs(int64_t{t.op_params[i]}) >= std::max<int64_t>(t.ne[i], 1)) return false;
    return like_source(t);
}

bool triangle(T t) { return like_source(t) && t.op_params[0] >= GGML_TRI_TYPE_UPPER_DIAG && t.op_params[0] <= GGML_TRI_TYPE_LOWER; }

// Whether the last number is made of one that there is, as the kernel reckons it.
bool scales_within(T t, int axis, bool corners) {
    if (t.ne[axis] == 0) return true;
    float scale = static_cast<float>(t.ne[axis]) / static_cast<float>(a(t).ne[axis]);
    if (corners && t.ne[axis] > 1 && a(t).ne[axis] > 1) scale = static_cast<float>(t.ne[axis] - 1) / static_cast<float>(a(t).ne[axis] - 1);
    return static_cast<int64_t>(static_cast<float>(t.ne[axis] - 1) / scale) < a(t).ne[axis];
}

bool upscale(T t) {
    int32_t mode = t.op_params[0] & 0xff;
    if (mode >= GGML_SCALE_MODE_COUNT) return false;
    // Between numbers of a plane the other modes take care of that.
    bool corners = (t.op_params[0] & GGML_SCALE_FLAG_ALIGN_CORNERS) != 0;
    for (int i = mode == GGML_SCALE_MODE_NEAREST ? 0 : 2; i < GGML_MAX_DIMS; ++i)
        if (!scales_within(t, i, corners && i < 2)) return false;
    return true;
}

bool timestep(T t) { return t.op_params[0] > 0 && is_shape(t, t.op_params[0], a(t).ne[0], 1, 1); }
bool arg_sort(T t) {
    return like_source(t) && t.type == GGML_TYPE_I32 &&
           (t.op_params[0] == GGML_SORT_ORDER_ASC || t.op_params[0] == GGML_SORT_ORDER_DESC);
}
bool top_k(T t) {
    return t.type == GGML_TYPE_I32 && t.ne[0] <= a(t).ne[0] && is_shape(t, t.ne[0], a(t).ne[1], a(t).ne[2], a(t).ne[3]);
}
#if APIR_GGML_GENERATION > 0
// Picks are cells of the mask, or blocks of them. Which those are is data, of which the kernel leaves out what there is not.
bool top_k_mask(T t) {
    const ggml_tensor *score = t.src[2], *blocks = t.src[3], *extra = t.src[4];
    auto by_row = [&](T x) { return x.ne[1] == t.ne[1] && x.ne[2] == t.ne[2] && x.ne[3] == t.ne[3] && ggml_is_contiguous(&x); };
    const int64_t picks = blocks != nullptr ? blocks->ne[1] : t.ne[0];
    if (blocks != nullptr && (blocks->ne[2] != 1 || blocks->ne[3] != 1 || !ggml_is_contiguous(blocks))) return false;
    if (score != nullptr && (score->ne[0] != picks || !by_row(*score))) return false;
    return a(t).ne[0] == t.ne[0] && repeats(a(t), t) && by_row(b(t)) && (extra == nullptr || by_row(*extra)) && ggml_is_contiguous(&t);
}
#endif
bool arange(T t) { return t.type == GGML_TYPE_F32 && is_shape(t, arange_steps(t), 1, 1, 1); }
bool loss(T t) { return elements(t) == 1 && same(a(t), b(t)); }
bool loss_back(T t) { return elements(a(t)) == 1 && same(b(t), c(t)) && same(t, b(t)); }
bool adamw(T t) {
    return same(a(t), b(t)) && same(a(t), c(t)) && same(a(t), *t.src[3]) && elements(*t.src[4]) == 7 && same(t, a(t));
}
bool sgd(T t) { return same(a(t), b(t)) && elements(c(t)) == 2 && same(t, a(t)); }
// The kernel counts the numbers of a sequence, and those of its own weights, in an int.
bool ssm_conv(T t) {
    return fits_int(a(t).ne[0], a(t).ne[1]) && fits_int(b(t).ne[0], b(t).ne[1]) && a(t).ne[1] == b(t).ne[1] &&
           is_shape(t, a(t).ne[1], a(t).ne[0] - b(t).ne[0] + 1, a(t).ne[2], 1);
}

constexpr std::array<Rule, GGML_OP_COUNT> rules = [] {
    std::array<Rule, GGML_OP_COUNT> all{};
    for (ggml_op op : {GGML_OP_SQR, GGML_OP_SQRT, GGML_OP_LOG, GGML_OP_SIN, GGML_OP_COS, GGML_OP_CUMSUM, GGML_OP_SCALE,
                       GGML_OP_CLAMP, GGML_OP_LEAKY_RELU, GGML_OP_FILL, GGML_OP_UNARY})
        all[op] = like_source;
    for (ggml_op op : {GGML_OP_ADD, GGML_OP_SUB, GGML_OP_MUL, GGML_OP_DIV}) all[op] = broadcast;
    for (ggml_op op : {GGML_OP_NORM, GGML_OP_RMS_NORM, GGML_OP_L2_NORM}) all[op] = norm;
#if APIR_GGML_GENERATION == 0
    for (ggml_op op : {GGML_OP_DIAG_MASK_INF, GGML_OP_DIAG_MASK_ZERO}) all[op] = diag_mask;
    all[GGML_OP_ADD1] = add_one;
#endif
    for (ggml_op op : {GGML_OP_DUP, GGML_OP_CONT}) all[op] = as_many;
    for (ggml_op op : {GGML_OP_SILU_BACK, GGML_OP_RMS_NORM_BACK, GGML_OP_SOFT_MAX_BACK}) all[op] = like_both;
    for (ggml_op op : {GGML_OP_SUM_ROWS, GGML_OP_MEAN}) all[op] = per_row;
    for (ggml_op op : {GGML_OP_ACC, GGML_OP_SET}) all[op] = into_part;
    for (ggml_op op : {GGML_OP_ROPE, GGML_OP_ROPE_BACK}) all[op] = rope;
#if APIR_GGML_GENERATION > 0
    all[GGML_OP_TOP_K_MASK] = top_k_mask;
#endif
    all[GGML_OP_CPY] = copy;
    all[GGML_OP_GROUP_NORM] = group_norm;
    all[GGML_OP_ADD_ID] = add_id;
    all[GGML_OP_SUM] = sum;
    all[GGML_OP_ARGMAX] = arg_max;
    all[GGML_OP_COUNT_EQUAL] = count_equal;
    all[GGML_OP_REPEAT] = [](T t) { return repeats(a(t), t); };
    all[GGML_OP_REPEAT_BACK] = [](T t) { return repeats(t, a(t)); };
    all[GGML_OP_CONCAT] = concat;
    all[GGML_OP_MUL_MAT] = mul_mat;
    all[GGML_OP_MUL_MAT_ID] = mul_mat_id;
    all[GGML_OP_OUT_PROD] = out_prod;
    all[GGML_OP_GET_ROWS] = get_rows;
    all[GGML_OP_GET_ROWS_BACK] = get_rows_back;
    all[GGML_OP_SET_ROWS] = set_rows;
    all[GGML_OP_DIAG] = diag;
    all[GGML_OP_SOFT_MAX] = soft_max;
    all[GGML_OP_FLASH_ATTN_EXT] = flash_attention;
    all[GGML_OP_GLU] = gated;
    all[GGML_OP_CONV_TRANSPOSE_1D] = conv_transpose_1d;
    all[GGML_OP_CONV_TRANSPOSE_2D] = conv_transpose_2d;
    all[GGML_OP_IM2COL] = im2col;
    all[GGML_OP_CONV_2D] = conv_2d;
    all[GGML_OP_CONV_2D_DW] = conv_2d_depthwise;
    all[GGML_OP_POOL_1D] = pool_1d;
    all[GGML_OP_POOL_2D] = pool_2d;
    all[GGML_OP_PAD] = pad;
    all[GGML_OP_PAD_REFLECT_1D] = pad_reflect;
    all[GGML_OP_ROLL] = roll;
    all[GGML_OP_TRI] = triangle;
    all[GGML_OP_UPSCALE] = upscale;
    all[GGML_OP_TIMESTEP_EMBEDDING] = timestep;
    all[GGML_OP_ARGSORT] = arg_sort;
    all[GGML_OP_TOP_K] = top_k;
    all[GGML_OP_ARANGE] = arange;
    all[GGML_OP_CROSS_ENTROPY_LOSS] = loss;
    all[GGML_OP_CROSS_ENTROPY_LOSS_BACK] = loss_back;
    all[GGML_OP_OPT_STEP_ADAMW] = adamw;
    all[GGML_OP_OPT_STEP_SGD] = sgd;
    all[GGML_OP_SSM_CONV] = ssm_conv;
    all[GGML_OP_IM2COL_BACK] = im2col_back;
    all[GGML_OP_IM2COL_3D] = im2col_3d;
    all[GGML_OP_CONV_3D] = conv_3d;
    all[GGML_OP_COL2IM_1D] = col2im_1d;
    all[GGML_OP_POOL_2D_BACK] = pool_2d_back;
    all[GGML_OP_WIN_PART] = window_part;
    all[GGML_OP_WIN_UNPART] = window_unpart;
    all[GGML_OP_GET_REL_POS] = get_relative_positions;
    all[GGML_OP_ADD_REL_POS] = add_relative_positions;
    all[GGML_OP_SSM_SCAN] = ssm_scan;
    all[GGML_OP_RWKV_WKV6] = rwkv_wkv6;
    all[GGML_OP_RWKV_WKV7] = rwkv_wkv7;
    all[GGML_OP_GATED_LINEAR_ATTN] = gated_linear_attention;
    all[GGML_OP_GATED_DELTA_NET] = gated_delta_net;
    all[GGML_OP_SOLVE_TRI] = solve_triangular;
    all[GGML_OP_LIGHTNING_INDEXER] = lightning_indexer;
    all[GGML_OP_DSV4_HC_COMB] = hyper_connection_combine;
    all[GGML_OP_DSV4_HC_PRE] = hyper_connection_before;
    all[GGML_OP_DSV4_HC_POST] = hyper_connection_after;
    // libggml itself cannot make one any more: nothing says what its kernels would take.
    all[GGML_OP_FLASH_ATTN_BACK] = [](T) { return false; };
    return all;
}();

} // namespace

bool has_consistent_shapes(const ggml_tensor &tensor) {
    Rule rule = rules[tensor.op];
    return rule == nullptr || rule(tensor);
}

} // namespace apir::host
