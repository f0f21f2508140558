// The numbers of ops and types go over the wire as they are. This code knows those of the headers that it was compiled with; a libggml of the same
// backend API that has put an op in between would compute another one than was asked for.
#pragma once

#include <cstring>
#include <string>

#include <ggml.h>

namespace apir::abi {

// In order, the last ones among them: what is put in or taken out moves all behind it. libggml reads its table without a look at its end, and that
// may come earlier than ours: nothing behind the first difference is looked at.
inline std::string moved_op() {
    struct Numbered {
        ggml_op op;
        const char *name;
    };
    constexpr Numbered ops[] = {
        {GGML_OP_DUP, "DUP"},
        {GGML_OP_ADD, "ADD"},
        {GGML_OP_SUM_ROWS, "SUM_ROWS"},
        {GGML_OP_CONCAT, "CONCAT"},
        {GGML_OP_MUL_MAT, "MUL_MAT"},
        {GGML_OP_CPY, "CPY"},
        {GGML_OP_PERMUTE, "PERMUTE"},
        {GGML_OP_GET_ROWS, "GET_ROWS"},
        {GGML_OP_SET_ROWS, "SET_ROWS"},
        {GGML_OP_SOFT_MAX, "SOFT_MAX"},
        {GGML_OP_ROPE, "ROPE"},
        {GGML_OP_IM2COL, "IM2COL"},
        {GGML_OP_POOL_2D, "POOL_2D"},
        {GGML_OP_ARGSORT, "ARGSORT"},
        {GGML_OP_FLASH_ATTN_EXT, "FLASH_ATTN_EXT"},
        {GGML_OP_SSM_SCAN, "SSM_SCAN"},
        {GGML_OP_UNARY, "UNARY"},
        {GGML_OP_MAP_CUSTOM1, "MAP_CUSTOM1"},
        {GGML_OP_CROSS_ENTROPY_LOSS, "CROSS_ENTROPY_LOSS"},
        {GGML_OP_OPT_STEP_ADAMW, "OPT_STEP_ADAMW"},
        {GGML_OP_OPT_STEP_SGD, "OPT_STEP_SGD"},
        {GGML_OP_GLU, "GLU"},
    };
    for (const Numbered &each : ops) {
        const char *name = ggml_op_name(each.op);
        if (std::strcmp(name, each.name) != 0) return std::string("number ") + std::to_string(each.op) + " is " + name + " there, and " + each.name + " here";
    }
    return {};
}

} // namespace apir::abi
