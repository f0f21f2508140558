// Ops as no constructor of ggml's makes them, one for each thing that the rules ask of the ops that most programs have: each would be computed beyond its
// tensors, or assert.
#pragma once

#include "host_op.hpp"

namespace apir::test {

namespace unfit {

constexpr uint32_t f16 = GGML_TYPE_F16, i32 = GGML_TYPE_I32, i64 = GGML_TYPE_I64, q8 = GGML_TYPE_Q8_0;
constexpr int32_t one = 0x3f800000, minus_one = INT32_MIN | one, four = 0x40800000; // as floats

inline Op turned(int64_t row, int32_t mode, int32_t dimensions, std::vector<Shape> behind, std::vector<int32_t> sections = {}) {
    std::vector<int32_t> parameters{0, dimensions, mode, 0, 0, 0x461c4000, one, 0, one, 0x42000000, one};
    parameters.insert(parameters.end(), sections.begin(), sections.end());
    const Shape each{{row, 2, 3, 1}};
    behind.insert(behind.begin(), each);
    return {"ROPE", GGML_OP_ROPE, each, behind, parameters};
}
// Part of 8 x 4 numbers, by strides and an offset in bytes.
inline Op part(Shape of, std::vector<int32_t> places) { return {"ACC", GGML_OP_ACC, {{8, 4, 1, 1}}, {{{8, 4, 1, 1}}, std::move(of)}, std::move(places)}; }
// Four queries of two heads, eight keys.
inline Op attended(Shape values, std::vector<Shape> behind, int32_t precision = GGML_PREC_UNDEFINED) {
    std::vector<Shape> sources{{{16, 4, 2, 1}}, {{16, 8, 2, 1}}, std::move(values)};
    sources.insert(sources.end(), behind.begin(), behind.end());
    return {"FLASH_ATTN_EXT", GGML_OP_FLASH_ATTN_EXT, {{16, 2, 4, 1}}, sources, {one, 0, 0, precision}};
}
#if APIR_GGML_GENERATION > 0
// Two rows of 16 cells.
inline Op picked(Shape mask, Shape picks, Shape score, Shape blocks, Shape extra = {{2, 2, 1, 1}, i32}) {
    return {"TOP_K_MASK", GGML_OP_TOP_K_MASK, {{16, 2, 1, 1}}, {std::move(mask), std::move(picks), std::move(score), std::move(blocks), std::move(extra)}, {}};
}
#endif
inline Op adapted(int64_t moment, int64_t parameters) {
    const Shape each{{4, 1, 1, 1}};
    return {"OPT_STEP_ADAMW", GGML_OP_OPT_STEP_ADAMW, each, {each, each, each, {{moment, 1, 1, 1}}, {{parameters, 1, 1, 1}}}, {}};
}
inline Op like_source(const char *name, ggml_op op, Shape each, std::vector<int32_t> parameters) { return {name, op, each, {each}, std::move(parameters)}; }

// As many bytes of states as the others have, or not.
inline Op scanned(int64_t numbers, Shape state, Shape each, int32_t snapshots = 1) {
    return {"SSM_SCAN", GGML_OP_SSM_SCAN, {{numbers, 1, 1, 1}},
            {std::move(state), {{4, 2, 1, 2}}, {{2, 1, 2, 1}}, {{1, 2, 1, 1}}, each, each, {{2, 1, 1, 1}, i32}}, {snapshots}};
}
inline Op attended_linearly(int64_t rows, Shape each) {
    return {"GATED_LINEAR_ATTN", GGML_OP_GATED_LINEAR_ATTN, {{4, rows, 1, 1}}, {each, each, each, each, {{16, 2, 1, 1}}}, {}};
}
inline Op gated(Shape each) {
    const Shape of{{32, 16, 4, 2}};
    return {"GATED_DELTA_NET", GGML_OP_GATED_DELTA_NET, {{512, 264, 1, 1}}, {each, each, of, of, {{1, 16, 4, 2}}, {{32, 32, 16, 2}}}, {4}};
}
inline Op columns_back(Shape result, Shape kernel) {
    return {"IM2COL_BACK of rows", GGML_OP_IM2COL_BACK, std::move(result), {{{9, 10, 2, 1}}, std::move(kernel)}, {1, 0, 1, 0, 1, 0, 0}};
}

inline const Shape row{{4, 1, 1, 1}}, values{{16, 8, 2, 1}}, mask{{8, 4, 1, 1}, f16};

inline const Op ops[] = {
    {"MUL_MAT", GGML_OP_MUL_MAT, {{3, 5, 3, 1}}, {{{32, 3, 2, 1}}, {{32, 5, 3, 1}}}, {}},
    {"MUL_MAT_ID", GGML_OP_MUL_MAT_ID, {{1, 3, 2, 1}}, {{{4, 1, 8, 1}}, {{4, 2, 2, 1}}, {{3, 2, 1, 1}, i32}}, {}},
    {"OUT_PROD", GGML_OP_OUT_PROD, {{4, 2, 3, 1}}, {{{4, 5, 2, 1}}, {{2, 5, 3, 1}}}, {}},
    {"ADD_ID", GGML_OP_ADD_ID, {{4, 2, 3, 1}}, {{{4, 2, 3, 1}}, {{4, 8, 1, 1}}, {{2, 2, 1, 1}, i32}}, {}},
    {"GET_ROWS", GGML_OP_GET_ROWS, {{4, 3, 2, 1}}, {{{4, 8, 1, 1}}, {{3, 2, 1, 1}, i32}}, {}},
    {"GET_ROWS_BACK", GGML_OP_GET_ROWS_BACK, {{4, 8, 1, 1}}, {{{4, 2, 1, 1}}, {{3, 1, 1, 1}, i32}}, {}},
    {"SET_ROWS by more numbers", GGML_OP_SET_ROWS, {{4, 8, 1, 1}}, {{{4, 2, 1, 1}}, {{3, 1, 1, 1}, i64}}, {}},
    {"SET_ROWS of other planes", GGML_OP_SET_ROWS, {{4, 8, 3, 1}}, {{{4, 2, 3, 1}}, {{2, 2, 1, 1}, i64}}, {}},
    {"SOFT_MAX with a shorter mask", GGML_OP_SOFT_MAX, {{4, 3, 1, 1}}, {{{4, 3, 1, 1}}, {{4, 2, 1, 1}}}, {one}},
    {"SOFT_MAX with sinks of a half", GGML_OP_SOFT_MAX, {{4, 3, 2, 1}}, {{{4, 3, 2, 1}}, {{4, 3, 1, 1}}, {{2, 1, 1, 1}, f16}}, {one}},
    turned(64, 0, 64, {{{2, 1, 1, 1}, i32}}),
    turned(64, 0, 128, {{{3, 1, 1, 1}, i32}}),
    turned(65, 0, 64, {{{3, 1, 1, 1}, i32}}),
    turned(64, 0, 64, {{{3, 1, 1, 1}, i32}, {{16, 1, 1, 1}}}),
    turned(64, GGML_ROPE_TYPE_VISION, 64, {{{12, 1, 1, 1}, i32}}, {16, 16, 0, 0}),
    attended(values, {{{7, 4, 1, 1}, f16}}),
    attended(values, {{{8, 3, 1, 1}, f16}}),
    attended(values, {mask, {{3, 1, 1, 1}}}),
    attended({{16, 7, 2, 1}}, {}),
    attended({{16, 8, 3, 1}}, {}),
    part({{8, 2, 1, 1}}, {32, 128, 128, -4}),
    part({{8, 2, 1, 1}}, {32, 128, 128, 68}),
    part({{8, 2, 1, 1}}, {-32, 128, 128, 64}),
    part({{8, 4, 2, 1}}, {32, 0, 128, 0}),
    {"GLU", GGML_OP_GLU, {{3, 2, 1, 1}}, {{{8, 2, 1, 1}}}, {}},
    {"CONCAT", GGML_OP_CONCAT, {{4, 5, 1, 1}}, {{{4, 2, 1, 1}}, {{3, 3, 1, 1}}}, {1}},
    {"DIAG", GGML_OP_DIAG, {{4, 4, 1, 1}}, {{{4, 2, 1, 1}}}, {}},
    {"TOP_K", GGML_OP_TOP_K, {{5, 1, 1, 1}, i32}, {row}, {}},
    {"ARGSORT", GGML_OP_ARGSORT, {{4, 1, 1, 1}, i32}, {row}, {2}},
    {"COUNT_EQUAL", GGML_OP_COUNT_EQUAL, {{1, 1, 1, 1}, i64}, {{{4, 1, 1, 1}, i32}, {{3, 1, 1, 1}, i32}}, {}},
    {"MUL_MAT of nothing", GGML_OP_MUL_MAT, {{3, 5, 1, 1}}, {{{0, 3, 1, 1}}, {{0, 5, 1, 1}}}, {}},
    {"GLU of no kind", GGML_OP_GLU, row, {{{8, 1, 1, 1}}}, {GGML_GLU_OP_COUNT}},
    like_source("UNARY", GGML_OP_UNARY, row, {GGML_UNARY_OP_COUNT}),
    like_source("SQR of a long row", GGML_OP_SQR, {{INT32_MAX, 1, 1, 1}}, {}),
    like_source("SQR that reaches around", GGML_OP_SQR, {{1, 65537, 1, 1}, GGML_TYPE_F32, {uint64_t{1} << 48, uint64_t{1} << 48, uint64_t{1} << 48}}, {}),
    like_source("NORM", GGML_OP_NORM, row, {minus_one}),
    like_source("GROUP_NORM", GGML_OP_GROUP_NORM, {{1, 1, 4, 1}}, {2, minus_one}),
#if APIR_GGML_GENERATION == 0
    like_source("DIAG_MASK_INF", GGML_OP_DIAG_MASK_INF, {{4, 4, 1, 1}}, {-1}),
#else
    picked({{16, 3, 1, 1}}, {{3, 2, 1, 1}, i32}, {{8, 2, 1, 1}}, {{2, 8, 1, 1}, i32}),
    picked({{8, 2, 1, 1}}, {{3, 2, 1, 1}, i32}, {{8, 2, 1, 1}}, {{2, 8, 1, 1}, i32}),
    picked({{16, 2, 1, 1}}, {{3, 1, 1, 1}, i32}, {{8, 2, 1, 1}}, {{2, 8, 1, 1}, i32}),
    picked({{16, 2, 1, 1}}, {{3, 2, 1, 1}, i32}, {{7, 2, 1, 1}}, {{2, 8, 1, 1}, i32}),
    picked({{16, 2, 1, 1}}, {{3, 2, 1, 1}, i32}, {{8, 1, 1, 1}}, {{2, 8, 1, 1}, i32}),
    picked({{16, 2, 1, 1}}, {{3, 2, 1, 1}, i32}, {{8, 2, 1, 1}}, {{2, 8, 2, 1}, i32}),
    picked({{16, 2, 1, 1}}, {{3, 2, 1, 1}, i32}, {{8, 2, 1, 1}}, {{2, 8, 1, 1}, i32}, {{2, 1, 1, 1}, i32}),
    picked({{16, 2, 1, 1}}, {{3, 2, 1, 1}, i32}, {{8, 2, 1, 1}}, {{2, 8, 1, 1}, i64}),
    picked({{16, 2, 1, 1}}, {{3, 2, 1, 1}}, {{8, 2, 1, 1}}, {{2, 8, 1, 1}, i32}),
    picked({{16, 2, 1, 1}}, {{3, 2, 1, 1}, i32}, {{8, 2, 1, 1}, i32}, {{2, 8, 1, 1}, i32}),
    attended({{16, 8, 2, 1}}, {{{1, 4, 1, 1}, f16}, {{2, 1, 1, 1}}, {{2, 1, 1, 1}, i32}}),
    attended({{16, 8, 2, 1}}, {{{2, 4, 1, 1}, f16}, {{2, 1, 1, 1}}, {{2, 2, 1, 1}, i32}}),
    attended({{16, 8, 2, 1}}, {{{2, 4, 1, 1}, f16}, {{2, 1, 1, 1}}, {{2, 1, 1, 1}, i64}}),
    attended({{16, 8, 2, 1}}, {{{8, 4, 1, 1}, f16}}, GGML_PREC_F16),
#endif
    like_source("ROLL", GGML_OP_ROLL, row, {4}),
    like_source("TRI", GGML_OP_TRI, {{4, 4, 1, 1}}, {GGML_TRI_TYPE_LOWER + 1}),
    {"PAD", GGML_OP_PAD, {{6, 1, 1, 1}}, {{{8, 1, 1, 1}}}, {-2}},
    {"PAD_REFLECT_1D", GGML_OP_PAD_REFLECT_1D, {{8, 1, 1, 1}}, {row}, {4}},
    {"UPSCALE", GGML_OP_UPSCALE, {{4, 4, 1, 1}}, {{{2, 2, 1, 1}}}, {GGML_SCALE_MODE_COUNT}},
    {"POOL_1D", GGML_OP_POOL_1D, row, {{{8, 1, 1, 1}}}, {GGML_OP_POOL_COUNT, 2, 2, 0}},
    {"ARANGE", GGML_OP_ARANGE, {{5, 1, 1, 1}}, {}, {0, four, one}},
    {"TIMESTEP_EMBEDDING", GGML_OP_TIMESTEP_EMBEDDING, {{8, 3, 1, 1}}, {row}, {8, 10000}},
    {"CONV_2D", GGML_OP_CONV_2D, {{8, 8, 4, 1}}, {{{3, 3, 2, 4}}, {{8, 8, 3, 1}}}, {1, 1, 1, 1, 1, 1}},
    {"CONV_2D_DW", GGML_OP_CONV_2D_DW, {{8, 8, 3, 1}}, {{{3, 3, 1, 4}}, {{8, 8, 3, 1}}}, {1, 1, 1, 1, 1, 1}},
    {"IM2COL", GGML_OP_IM2COL, {{27, 8, 8, 1}}, {{{3, 3, 2, 1}}, {{8, 8, 3, 1}}}, {1, 1, 1, 1, 1, 1, 1}},
    {"CONV_TRANSPOSE_1D", GGML_OP_CONV_TRANSPOSE_1D, {{8, 4, 1, 1}}, {{{4, 4, 3, 1}}, {{3, 2, 1, 1}}}, {2}},
    {"CONV_TRANSPOSE_2D", GGML_OP_CONV_TRANSPOSE_2D, {{4, 4, 4, 1}}, {{{2, 2, 4, 3}}, {{3, 3, 2, 1}}}, {1}},
    {"SSM_CONV", GGML_OP_SSM_CONV, {{4, 6, 1, 1}}, {{{8, 4, 1, 1}}, {{3, 5, 1, 1}}}, {}},
    {"CROSS_ENTROPY_LOSS", GGML_OP_CROSS_ENTROPY_LOSS, {{1, 1, 1, 1}}, {{{4, 2, 1, 1}}, {{4, 3, 1, 1}}}, {}},
    {"CROSS_ENTROPY_LOSS_BACK", GGML_OP_CROSS_ENTROPY_LOSS_BACK, {{4, 2, 1, 1}}, {{{1, 1, 1, 1}}, {{4, 2, 1, 1}}, {{4, 3, 1, 1}}}, {}},
    adapted(5, 7),
    adapted(4, 6),
    {"OPT_STEP_SGD", GGML_OP_OPT_STEP_SGD, row, {row, row, {{3, 1, 1, 1}}}, {}},
    columns_back({{10, 3, 2, 2}}, {{3, 3, 1, 1}}),
    columns_back({{10, 3, 2, 1}}, {{3, 4, 1, 1}}),
    {"CONV_3D of fewer than none", GGML_OP_CONV_3D, {{8, 8, 8, 6}}, {{{3, 4, 5, 6}}, {{10, 11, 12, 4}}}, {1, 1, 1, 0, 0, 0, 1, 1, 1, -2, -2, -3}},
    {"COL2IM_1D in no steps", GGML_OP_COL2IM_1D, {{1, 4, 1, 1}}, {{{12, 7, 1, 1}}}, {0, 4, 1}},
    {"COL2IM_1D that crops less than nothing", GGML_OP_COL2IM_1D, {{17, 4, 1, 1}}, {{{12, 7, 1, 1}}}, {2, 4, -1}},
    attended_linearly(10, {{4, 1, 2, 2}}),
    attended_linearly(11, {{4, 1, 3, 1}}),
    scanned(16, {{4, 4, 2, 1}}, {{4, 1, 1, 2}}, 0),
    scanned(96, {{4, 5, 2, 1}}, {{4, 1, 1, 2}}),
    scanned(112, {{4, 4, 3, 1}}, {{4, 1, 1, 2}}),
    scanned(80, {{4, 4, 2, 1}}, {{4, 3, 1, 2}}),
    scanned(80, {{4, 4, 2, 1}}, {{4, 1, 1, 1}}),
    gated({{32, 5, 4, 2}}),
    gated({{32, 8, 4, 3}}),
    {"LIGHTNING_INDEXER", GGML_OP_LIGHTNING_INDEXER, {{2, 3, 1, 4}}, {{{128, 64, 3, 4}}, {{128, 1, 2, 4}}, {{64, 3, 1, 4}}, {{2, 3, 1, 3}, f16}}, {}},
    {"DSV4_HC_PRE by a weight for each number", GGML_OP_DSV4_HC_PRE, {{31, 17, 1, 1}}, {{{31, 4, 17, 1}}, {{4, 17, 1, 1}}}, {one, 1}},
    {"DSV4_HC_POST of two batches", GGML_OP_DSV4_HC_POST, {{31, 4, 17, 2}}, {{{31, 17, 1, 1}}, {{31, 4, 17, 2}}, {{4, 17, 1, 1}}}, {}},
    {"CPY to what is of another type", GGML_OP_CPY, row, {row, {{4, 1, 1, 1}, f16}}, {}},
    {"CPY of rows that make no block", GGML_OP_CPY, {{32, 1, 1, 1}, q8}, {{{4, 8, 1, 1}}, {{32, 1, 1, 1}, q8}}, {}},
    {"CPY into rows that take no block", GGML_OP_CPY, {{4, 8, 1, 1}}, {{{32, 1, 1, 1}, q8}, {{4, 8, 1, 1}}}, {}},
    {"ADD of a row to rows of blocks", GGML_OP_ADD, {{32, 2, 1, 1}, q8}, {{{32, 2, 1, 1}, q8}, {{32, 1, 1, 1}}}, {}},
    {"MUL_MAT by a Hadamard matrix of three", GGML_OP_MUL_MAT, {{3, 2, 1, 1}}, {{{3, 3, 1, 1}}, {{3, 2, 1, 1}}}, {0, 1}},
    {"FLASH_ATTN_EXT of long values", GGML_OP_FLASH_ATTN_EXT, {{1 << 18, 8, 1, 1}}, {{{1, 1, 8, 1}}, {{1, 1, 1, 1}}, {{1 << 18, 1, 1, 1}, f16}}, {one}},
};

// And ops that are computed of packed tensors, with the strides of one of them, its result's (0) or a source's, that a kernel would not go by, or assert.
struct Strided {
    Op op;
    size_t tensor;
    uint64_t nb[4];
};

inline const Shape two{{4, 2, 1, 1}}, blocks{{32, 2, 1, 1}, q8}, numbers{{32, 2, 1, 1}};
inline const Op crossed{"OUT_PROD", GGML_OP_OUT_PROD, two, {{{4, 3, 1, 1}}, {{2, 3, 1, 1}}}, {}};
inline const Op accumulated{"ACC", GGML_OP_ACC, {{8, 4, 1, 1}}, {{{8, 4, 1, 1}}, {{8, 2, 1, 1}}}, {32, 128, 128, 0, 0}};
inline const Op by_channel{"CONV_2D_DW", GGML_OP_CONV_2D_DW, {{3, 3, 2, 1}}, {{{3, 3, 1, 2}}, {{5, 5, 2, 1}}}, {1, 1, 0, 0, 1, 1}};
inline const Op added{"ADD of blocks", GGML_OP_ADD, blocks, {blocks, numbers}, {}};

inline const Strided strided[] = {
    {{"CONV_2D", GGML_OP_CONV_2D, {{2, 2, 3, 1}}, {{{2, 2, 1, 3}}, {{3, 3, 1, 1}}}, {1, 1, 0, 0, 1, 1}}, 1, {4, 16, 32, 32}},
    {{"PAD", GGML_OP_PAD, {{6, 2, 1, 1}}, {two}, {2, 0, 0, 0, 0, 0, 0, 0, 0}}, 0, {4, 32, 64, 64}},
    {accumulated, 0, {4, 64, 256, 256}},
    {accumulated, 1, {4, 64, 256, 256}},
    {{"IM2COL", GGML_OP_IM2COL, {{3, 62, 1, 1}}, {{{3, 1, 1, 1}}, {{64, 1, 1, 1}}}, {1, 0, 0, 0, 1, 0, 0}}, 0, {4, 16, 992, 992}},
    {{"UNARY", GGML_OP_UNARY, two, {two}, {GGML_UNARY_OP_NEG}}, 1, {8, 32, 64, 64}},
    {{"DUP of blocks", GGML_OP_DUP, blocks, {blocks}, {}}, 1, {68, 68, 136, 136}},
    {{"MUL_MAT", GGML_OP_MUL_MAT, {{3, 5, 1, 1}}, {{{32, 3, 1, 1}}, {{32, 5, 1, 1}}}, {}}, 0, {8, 12, 60, 60}},
    {crossed, 0, {4, 16, 32, 16}},
    {crossed, 0, {4, 0, 32, 32}},
    {by_channel, 0, {4, 16, 48, 96}},
    {by_channel, 1, {4, 16, 48, 48}},
    {{"CPY", GGML_OP_CPY, two, {two, two}, {}}, 2, {4, 32, 64, 64}},
    {{"CPY into blocks", GGML_OP_CPY, blocks, {numbers, blocks}, {}}, 1, {8, 256, 512, 512}},
    {added, 1, {34, 68, 136, 136}},
    {added, 2, {4, 256, 512, 512}},
};

} // namespace unfit
} // namespace apir::test
