#include "cpu_layout.hpp"

#include <initializer_list>

#include "since_one.hpp"

namespace apir::host {
namespace {

using T = const ggml_tensor &;

T a(T t) { return *t.src[0]; }
T b(T t) { return *t.src[1]; }

bool is(T t, std::initializer_list<ggml_type> types) {
    for (ggml_type type : types)
        if (t.type == type) return true;
    return false;
}

bool is_f32(T t) { return t.type == GGML_TYPE_F32; }
bool is_float(T t) { return is(t, {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}); }
bool is_half_or_full(T t) { return is(t, {GGML_TYPE_F32, GGML_TYPE_F16}); }
// Numbers, or blocks that numbers can be made of.
bool is_weight(T t) { return is_float(t) || is_float8(t.type) || (ggml_is_quantized(t.type) && ggml_get_type_traits(t.type)->to_float != nullptr); }

bool all_like(T t, ggml_type type) {
    for (const ggml_tensor *source : t.src)
        if (source != nullptr && source->type != type) return false;
    return t.type == type;
}

// Blocks that numbers can be made into while a graph is computed.
bool is_made(T t) {
    bool never = is(t, {GGML_TYPE_IQ2_XXS, GGML_TYPE_IQ2_XS, GGML_TYPE_IQ2_S, GGML_TYPE_IQ3_XXS, GGML_TYPE_IQ3_S, GGML_TYPE_IQ1_S, GGML_TYPE_IQ1_M});
    return ggml_is_quantized(t.type) && !never;
}

// Elementwise with two operands; the second one may be of full precision.
bool binary(T t) {
    if (t.op == GGML_OP_ADD && (is_made(t) || is_float8(t.type)) && is_weight(t)) return t.type == a(t).type && is_f32(b(t));
    if (!is_float(t) || !is_float(a(t))) return false;
    if (all_like(t, t.type)) return true;
    return is_f32(b(t)) && (t.type == a(t).type || is_f32(t));
}

bool convolution(T t) { return is_f32(t) && is_half_or_full(a(t)) && is_f32(b(t)); }

bool mul_mat(T t) {
    const bool numbers = is_float(a(t)) || is_float8(a(t).type);
    return is_f32(t) && is_weight(a(t)) && (is_f32(b(t)) || (numbers && is_float(b(t))));
}

bool get_rows(T t) {
    if (b(t).type != GGML_TYPE_I32) return false;
    return (is_f32(t) && is_weight(a(t))) || (t.type == GGML_TYPE_I32 && a(t).type == GGML_TYPE_I32);
}

bool set_rows(T t) {
    if (t.src[2] != nullptr && t.src[2]->type != t.type) return false;
    return is_half_or_full(a(t)) && (is_float(t) || is_float8(t.type) || is_made(t));
}

bool flash_attention(T t) {
    if (has_kv_rows(t) && t.src[5]->type != GGML_TYPE_I32) return false;
    return is_f32(t) && is_f32(a(t)) && is_weight(b(t)) && is_weight(*t.src[2]);
}

// Between numbers and blocks, or as it is.
bool copy(T t) {
    ggml_type from = a(t).type;
    if (from == t.type) return true;
    bool integers = from == GGML_TYPE_I32 || t.type == GGML_TYPE_I32;
    if (integers) return is_f32(t) || from == GGML_TYPE_F32;
    if (is_float(t)) return is_float(a(t)) || is_float8(from) || (is_f32(t) && is_weight(a(t)));
    return (is_made(t) || is_float8(t.type)) && is_float(a(t));
}

#if APIR_GGML_GENERATION > 0
bool top_k_mask(T t) {
    auto fits = [&](int source, ggml_type type) { return t.src[source] == nullptr || t.src[source]->type == type; };
    return is_half_or_full(t) && a(t).type == t.type && fits(1, GGML_TYPE_I32) && fits(2, GGML_TYPE_F32) && fits(3, GGML_TYPE_I32) && fits(4, GGML_TYPE_I32);
}
#endif

bool gated(T t) {
    bool limited = t.op_params[0] == GGML_GLU_OP_SWIGLU_OAI || t.op_params[0] == GGML_GLU_OP_SWIGLU_CLAMP;
    return limited ? is_half_or_full(t) : is_float(t);
}

bool soft_max(T t) {
    bool mask = t.src[1] == nullptr || is_half_or_full(b(t));
    return is_f32(t) && is_f32(a(t)) && mask;
}

// Of the kernel only its shape is used; ggml_conv_1d_dw has numbers of full precision made for a kernel of brain floats.
bool im2col(T t) { return is_half_or_full(t) && (is_half_or_full(a(t)) || (is_f32(t) && is_float(a(t)))) && is_f32(b(t)); }

bool has_types(T t) {
    switch (t.op) {
    case GGML_OP_ADD:
    case GGML_OP_SUB:
    case GGML_OP_MUL:
    case GGML_OP_DIV: return binary(t);
#if APIR_GGML_GENERATION == 0
    case GGML_OP_ADD1: return is_half_or_full(t) && t.type == a(t).type && is_f32(b(t));
#endif
#if APIR_GGML_GENERATION > 0
    case GGML_OP_TOP_K_MASK: return top_k_mask(t);
#endif
    case GGML_OP_GLU: return gated(t) && all_like(t, t.type);
    case GGML_OP_UNARY:
    case GGML_OP_SQR:
    case GGML_OP_SQRT:
    case GGML_OP_LOG:
    case GGML_OP_SIN:
    case GGML_OP_COS:
    case GGML_OP_COL2IM_1D: return is_float(t) && all_like(t, t.type);
    case GGML_OP_SUM: return is_float(t) && t.type == a(t).type;
    case GGML_OP_LEAKY_RELU:
    case GGML_OP_SILU_BACK:
    case GGML_OP_CLAMP:
    case GGML_OP_FILL: return is_half_or_full(t) && all_like(t, t.type);
    case GGML_OP_SCALE: return is(t, {GGML_TYPE_F32, GGML_TYPE_BF16}) && all_like(t, t.type);
    case GGML_OP_CONCAT: return all_like(t, t.type);
    case GGML_OP_REPEAT: return t.type == a(t).type && is(t, {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_I32, GGML_TYPE_I16});
    case GGML_OP_SET: return is(t, {GGML_TYPE_F32, GGML_TYPE_I32}) && all_like(t, t.type);
    case GGML_OP_DUP:
    case GGML_OP_CONT:
    case GGML_OP_CPY: return copy(t);
    case GGML_OP_COUNT_EQUAL: return t.type == GGML_TYPE_I64 && a(t).type == GGML_TYPE_I32 && b(t).type == GGML_TYPE_I32;
    case GGML_OP_ARGMAX:
    case GGML_OP_ARGSORT:
    case GGML_OP_TOP_K: return t.type == GGML_TYPE_I32 && is_f32(a(t));
    case GGML_OP_ADD_ID: return is_f32(t) && is_f32(a(t)) && is_f32(b(t)) && t.src[2]->type == GGML_TYPE_I32;
    case GGML_OP_GET_ROWS: return get_rows(t);
    case GGML_OP_GET_ROWS_BACK: return is_f32(t) && is_half_or_full(a(t)) && b(t).type == GGML_TYPE_I32;
    case GGML_OP_SET_ROWS: return set_rows(t);
    case GGML_OP_MUL_MAT: return mul_mat(t);
    case GGML_OP_MUL_MAT_ID: return is_f32(t) && is_weight(a(t)) && is_f32(b(t)) && t.src[2]->type == GGML_TYPE_I32;
    case GGML_OP_OUT_PROD: return is_f32(t) && (is_half_or_full(a(t)) || (is_weight(a(t)) && ggml_is_quantized(a(t).type))) && is_f32(b(t));
    case GGML_OP_CONV_2D:
    case GGML_OP_CONV_3D:
    case GGML_OP_CONV_2D_DW:
    case GGML_OP_CONV_TRANSPOSE_1D:
    case GGML_OP_CONV_TRANSPOSE_2D: return convolution(t);
    case GGML_OP_IM2COL: return im2col(t);
    case GGML_OP_IM2COL_3D: return is_half_or_full(t) && is_half_or_full(a(t)) && is_f32(b(t));
    case GGML_OP_FLASH_ATTN_EXT: return flash_attention(t);
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK: return is_half_or_full(t) && t.type == a(t).type && b(t).type == GGML_TYPE_I32;
    case GGML_OP_SOFT_MAX: return soft_max(t);
    // Their rules say all of their types: see sequence_shapes.cpp and volume_shapes.cpp.
    case GGML_OP_LIGHTNING_INDEXER: return is_weight(b(t));
    case GGML_OP_SSM_SCAN:
    case GGML_OP_GET_REL_POS: return true;
    default: return all_like(t, GGML_TYPE_F32);
    }
}

} // namespace

bool has_cpu_types(const ggml_tensor &tensor) { return has_types(tensor); }

bool has_gpu_types(const ggml_tensor &tensor) {
    if (tensor.op != GGML_OP_MUL_MAT) return has_types(tensor);
    return has_types(tensor) || (is_f32(tensor) && is_weight(a(tensor)) && is_half_or_full(b(tensor)));
}

} // namespace apir::host
