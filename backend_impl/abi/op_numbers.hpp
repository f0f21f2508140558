// The numbers of ops go over the wire as they are. This code knows those of the headers that it was compiled with; a libggml of the same backend API
// that has put an op in between would compute another one than was asked for. (Types have the numbers of model files, which do not move.)
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include <ggml.h>

namespace apir::abi {

template <typename Op> struct Numbered {
    Op op;
    const char *name;
};

// The first of them that has another number in libggml, in words. They are in order, and what is put in or taken out moves all behind it: libggml reads
// its tables without a look at their ends, which may come earlier than ours, so nothing behind the first difference is looked at.
template <typename Op, size_t count> std::string moved(const Numbered<Op> (&known)[count], const char *(*name_of)(Op)) {
    for (const Numbered<Op> &each : known) {
        const char *name = name_of(each.op);
        if (std::strcmp(name, each.name) != 0) return std::string("number ") + std::to_string(each.op) + " is " + name + " there, and " + each.name + " here";
    }
    return {};
}

// Whether libggml has the ops that this was compiled with: empty, or what it has otherwise.
inline std::string moved_op() {
    constexpr Numbered<ggml_op> ops[] = {
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
    constexpr Numbered<ggml_unary_op> functions[] = {
        {GGML_UNARY_OP_ABS, "ABS"},
        {GGML_UNARY_OP_RELU, "RELU"},
        {GGML_UNARY_OP_SILU, "SILU"},
        {GGML_UNARY_OP_EXP, "EXP"},
        {GGML_UNARY_OP_GELU_ERF, "GELU_ERF"},
        {GGML_UNARY_OP_FLOOR, "FLOOR"},
        {GGML_UNARY_OP_ROUND, "ROUND"},
        {GGML_UNARY_OP_TRUNC, "TRUNC"},
    };
    constexpr Numbered<ggml_glu_op> gates[] = {
        {GGML_GLU_OP_REGLU, "REGLU"},
        {GGML_GLU_OP_SWIGLU, "SWIGLU"},
        {GGML_GLU_OP_GEGLU_ERF, "GEGLU_ERF"},
        {GGML_GLU_OP_GEGLU_QUICK, "GEGLU_QUICK"},
    };
    std::string found = moved(ops, ggml_op_name);
    if (found.empty()) found = moved(functions, ggml_unary_op_name);
    if (found.empty()) found = moved(gates, ggml_glu_op_name);
    return found;
}

} // namespace apir::abi
