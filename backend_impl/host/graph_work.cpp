#include "graph_work.hpp"

#include <algorithm>
#include <cmath>

#include "since_one.hpp"

namespace apir::host {
namespace {

double elements(const ggml_tensor &tensor) {
    double count = 1;
    for (int64_t n : tensor.ne) count *= static_cast<double>(n);
    return count;
}

// Numbers of the largest tensor: a source may have more than there is memory, by strides of 0.
double largest(const ggml_tensor &node) {
    double most = elements(node);
    for (const ggml_tensor *source : node.src)
        if (source != nullptr) most = std::max(most, elements(*source));
    return most;
}

double ne(const ggml_tensor *tensor, int axis) { return static_cast<double>(tensor->ne[axis]); }

// How many of the first source's numbers fall on one of the result's along an axis, at least one.
double shrinks(const ggml_tensor &node, int axis) { return std::max(1.0, ne(node.src[0], axis) / std::max(1.0, ne(&node, axis))); }

constexpr double attention_tile = 64;

// All keys, or those that a slice names, which may be one many times.
double keys_of(const ggml_tensor &node) { return std::max(ne(node.src[1], 1), has_kv_rows(node) ? ne(node.src[5], 0) : 0); }

// Numbers that are each made of as many as `factor` says. A product goes over its weights once for each column and not once for each number of them.
double made(const ggml_tensor &node) {
    switch (node.op) {
    case GGML_OP_MUL_MAT:
    case GGML_OP_MUL_MAT_ID:
    case GGML_OP_OUT_PROD: return elements(node);
    case GGML_OP_FLASH_ATTN_EXT: return elements(*node.src[0]) + elements(node); // the keys go by all queries, the values into the result
    default: return largest(node);
    }
}

// How many source numbers each of those is made of.
double factor(const ggml_tensor &node) {
    const ggml_tensor *a = node.src[0];
    const ggml_tensor *b = node.src[1];
    const int32_t *p = node.op_params;
    switch (node.op) {
    case GGML_OP_MUL_MAT:
    case GGML_OP_MUL_MAT_ID: return ne(a, 0);
    case GGML_OP_OUT_PROD: return ne(a, 1);
    case GGML_OP_SOLVE_TRI: return ne(a, 0);
    case GGML_OP_CONV_2D:
    case GGML_OP_CONV_2D_DW: return ne(a, 0) * ne(a, 1) * ne(a, 2);
    case GGML_OP_CONV_3D: return ne(a, 0) * ne(a, 1) * ne(a, 2) * std::max(1, p[9]); // of all channels
    case GGML_OP_CONV_TRANSPOSE_1D: return ne(a, 0) * ne(a, 2);
    case GGML_OP_CONV_TRANSPOSE_2D: return ne(a, 0) * ne(a, 1) * ne(a, 3);
    case GGML_OP_COL2IM_1D: return ne(a, 0) / std::max(1.0, static_cast<double>(p[1]));
    case GGML_OP_IM2COL_BACK: return ne(b, 0) * ne(b, 1);
    case GGML_OP_POOL_1D: return p[1];
    case GGML_OP_POOL_2D:
    case GGML_OP_POOL_2D_BACK: return static_cast<double>(p[1]) * p[2];
    case GGML_OP_UPSCALE: // of a result that is smaller than its source; with antialiasing each number is made of all that fall on it
        return 4 * std::max(4.0, shrinks(node, 0) * shrinks(node, 1)) * elements(node) / std::max(1.0, largest(node));
    case GGML_OP_FLASH_ATTN_EXT: // where there are as many queries, ggml-cpu fills the last tile of keys up
        return ne(a, 1) < attention_tile ? keys_of(node) : attention_tile * std::ceil(keys_of(node) / attention_tile);
    case GGML_OP_LIGHTNING_INDEXER: return ne(a, 0) * ne(a, 1);
#if APIR_GGML_GENERATION > 0
    case GGML_OP_TOP_K_MASK: return node.src[3] != nullptr ? std::max(1.0, ne(node.src[3], 0)) : 1; // each pick is a block of so many
#endif
    case GGML_OP_SSM_SCAN: return ne(a, 0);
    case GGML_OP_RWKV_WKV6:
    case GGML_OP_RWKV_WKV7:
    case GGML_OP_GATED_LINEAR_ATTN: return ne(a, 0);
    case GGML_OP_GATED_DELTA_NET: return 4 * ne(a, 0);
    case GGML_OP_DSV4_HC_POST: return ne(b, 1); // each stream is made of all
    case GGML_OP_DSV4_HC_COMB: return 4 * (1 + static_cast<double>(p[1]));
    case GGML_OP_ARGSORT:
    case GGML_OP_TOP_K: return 2 + std::log2(1 + ne(a, 0));
    case GGML_OP_SSM_CONV: return ne(b, 0);
    default: return 1;
    }
}

} // namespace

double work_of(const ggml_tensor &node) {
    double groups = node.op == GGML_OP_GROUP_NORM ? static_cast<double>(node.op_params[0]) : 0;
    return std::max(largest(node), made(node) * factor(node)) + groups;
}

} // namespace apir::host
