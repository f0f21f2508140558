// Ops for which ggml-cpu plans working memory for each of its threads: more than it is let, and as much as it is let.
#pragma once

#include "host_op.hpp"

namespace apir::test {

namespace planned {

constexpr uint32_t f16 = GGML_TYPE_F16, bf16 = GGML_TYPE_BF16, i32 = GGML_TYPE_I32, i64 = GGML_TYPE_I64, q8 = GGML_TYPE_Q8_0;
constexpr int32_t one = 0x3f800000; // as a float
constexpr int64_t most = 1 << 24; // numbers of full precision in 64 MiB

inline Shape of(int64_t n, uint32_t type = GGML_TYPE_F32) { return {{n, 1, 1, 1}, type}; }

inline Op turned(ggml_op op, int64_t n) {
    return {"ROPE", op, of(n, f16), {of(n, f16), of(1, i32)}, {0, 64, 0, 0, 0, 0x461c4000, one, 0, one, 0x42000000, one}};
}
inline Op softened(int64_t n) { return {"SOFT_MAX", GGML_OP_SOFT_MAX, of(n), {of(n)}, {one}}; }
inline Op copied(int64_t n, uint32_t from, uint32_t to) { return {"CPY", GGML_OP_CPY, of(n, to), {of(n, from), of(n, to)}, {}}; }
inline Op doubled(int64_t n) { return {"DUP of blocks", GGML_OP_DUP, of(n, q8), {of(n, q8)}, {}}; }
inline Op added(int64_t n) { return {"ADD of blocks", GGML_OP_ADD, of(n, q8), {of(n, q8), of(n)}, {}}; }
inline Op crossed(int64_t n, uint32_t type) { return {"OUT_PROD", GGML_OP_OUT_PROD, of(n), {of(n, type), of(1)}, {}}; }
inline Op scattered(int64_t n) { return {"SET_ROWS from halves", GGML_OP_SET_ROWS, of(n), {of(n, f16), of(1, i64)}, {}}; }
inline Op chosen(int64_t n) { return {"TOP_K", GGML_OP_TOP_K, of(1, i32), {of(n)}, {}}; }
inline Op lost(int64_t n) { return {"CROSS_ENTROPY_LOSS", GGML_OP_CROSS_ENTROPY_LOSS, of(1), {of(n), of(n)}, {}}; }
inline Op indexed(int64_t n) {
    return {"LIGHTNING_INDEXER", GGML_OP_LIGHTNING_INDEXER, of(1), {of(n), of(n, f16), of(1), of(1, f16)}, {}};
}
// One query of so many heads, of one number each.
inline Op attended(int64_t heads) {
    const Shape keys{{1, 512, 1, 1}, f16};
    return {"FLASH_ATTN_EXT", GGML_OP_FLASH_ATTN_EXT, {{1, heads, 1, 1}}, {{{1, 1, heads, 1}}, keys, keys}, {one}};
}
// A head of one token, whose state is size x size numbers.
inline Op gated(int64_t size, int32_t snapshots) {
    return {"GATED_DELTA_NET", GGML_OP_GATED_DELTA_NET, {{size, 1 + size * snapshots, 1, 1}},
            {of(size), of(size), of(size), of(1), of(1), {{size, size, 1, 1}}}, {snapshots}};
}

struct Pair {
    Op refused, admitted;
};

inline const Pair ops[] = {
    {turned(GGML_OP_ROPE, most + 2), turned(GGML_OP_ROPE, most)},
    {turned(GGML_OP_ROPE_BACK, most + 2), turned(GGML_OP_ROPE_BACK, most)},
    {softened(most + 1), softened(most)},
    {copied(most + 32, GGML_TYPE_F32, q8), copied(most, GGML_TYPE_F32, q8)},
    {copied(most + 1, f16, bf16), copied(most, f16, bf16)},
    {copied(most + 1, bf16, f16), copied(most + 1, GGML_TYPE_F32, f16)},
    {copied(most + 1, GGML_TYPE_F32, i32), copied(most, GGML_TYPE_F32, i32)},
    {copied(most + 1, i32, GGML_TYPE_F32), copied(most + 1, i32, i32)},
    {doubled(most + 32), doubled(most)},
    {added(most + 32), added(most)},
    {crossed(most + 1, f16), crossed(most, f16)},
    {crossed(most + 32, q8), crossed(most + 32, GGML_TYPE_F32)},
    {scattered(most + 1), scattered(most)},
    {chosen(most + 1), chosen(most)},
    {lost(most), lost(most - 1)},
    {indexed(most + 1), indexed(most)},
    // For each head three numbers, and for its key and two values.
    {attended((most - 3) / 3 + 1), attended((most - 3) / 3)},
    {gated(4096, 2), gated(4095, 2)},
};

} // namespace planned
} // namespace apir::test
