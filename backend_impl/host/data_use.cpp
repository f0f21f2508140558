#include "data_use.hpp"

#include "since_one.hpp"

namespace apir::host {

// From ggml 1.0 on -1 stands for none. Some kernels take other negative numbers as well, and some go there.
constexpr int64_t least_id = APIR_GGML_GENERATION > 0 ? -1 : 0;

DataUse data_use(const ggml_tensor &node) {
    using Kind = DataUse::Kind;
    switch (node.op) {
    case GGML_OP_GET_ROWS: return {Kind::indices, 1, node.src[0]->ne[1]};
    case GGML_OP_GET_ROWS_BACK:
    case GGML_OP_SET_ROWS: return {Kind::indices, 1, node.ne[1]};
    case GGML_OP_ADD_ID: return {Kind::indices, 2, node.src[1]->ne[1], least_id};
    case GGML_OP_MUL_MAT_ID: return {Kind::indices, 2, node.src[0]->ne[2], least_id};
    case GGML_OP_FLASH_ATTN_EXT:
        if (!has_kv_rows(node)) return {};
        return {Kind::indices, 5, node.src[1]->ne[1], INT32_MIN};
    case GGML_OP_SSM_SCAN: return {Kind::indices, 6, node.src[0]->ne[3]};
    case GGML_OP_ARGSORT:
    case GGML_OP_TOP_K: return {Kind::sorted, 0, 0};
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK:
        // Frequencies are looked up for the whole row, also for what is not turned, and for the half of a pair that ends an odd one.
        if (node.src[2] == nullptr || node.src[2]->ne[0] >= (node.ne[0] + 1) / 2) return {};
        return {Kind::padded, 2, (node.ne[0] + 1) / 2};
    default: return {};
    }
}

} // namespace apir::host
