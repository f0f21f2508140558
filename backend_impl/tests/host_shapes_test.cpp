// Rules of ops whose constructors are few programs': each is accepted as ggml makes it, and refused when any dimension of its result or of a
// source, a type or a parameter is another one. (That no case of test-backend-ops is refused: host-rules.) And what made kernels of
// ggml-cpu leave their tensors, abort, or divide by zero: refused when asked for, and as a graph.
#include <ggml.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "host_loopback.hpp"
#include "host_planned_ops.hpp"
#include "host_unfit_ops.hpp"

using namespace apir;
using namespace apir::test;

namespace {

const Op ops[] = {
    {"WIN_PART", GGML_OP_WIN_PART, {{768, 14, 14, 25}}, {{{768, 64, 60, 1}}}, {5, 5, 14}},
    {"WIN_UNPART", GGML_OP_WIN_UNPART, {{768, 70, 70, 1}}, {{{768, 14, 14, 25}}}, {14}},
    {"GET_REL_POS", GGML_OP_GET_REL_POS, {{80, 14, 14, 1}, GGML_TYPE_F16}, {{{80, 27, 1, 1}, GGML_TYPE_F16}}, {}},
    {"ADD_REL_POS", GGML_OP_ADD_REL_POS, {{196, 196, 12, 1}}, {{{196, 196, 12, 1}}, {{14, 14, 14, 12}}, {{14, 14, 14, 12}}}, {}},
    {"IM2COL_BACK", GGML_OP_IM2COL_BACK, {{10, 11, 3, 2}}, {{{27, 10, 11, 2}}, {{3, 3, 3, 4}}}, {1, 1, 1, 1, 1, 1, 1}},
    {"IM2COL", GGML_OP_IM2COL, {{3, 62, 16, 1}}, {{{3, 1, 16, 1}, GGML_TYPE_BF16}, {{64, 1, 16, 1}}}, {1, 0, 0, 0, 1, 0, 0}},
    {"IM2COL_3D", GGML_OP_IM2COL_3D, {{120, 8, 8, 16}, GGML_TYPE_F16}, {{{3, 4, 5, 6}}, {{10, 11, 12, 4}}}, {1, 1, 1, 0, 0, 0, 1, 1, 1, 2}},
    {"CONV_3D", GGML_OP_CONV_3D, {{8, 8, 8, 6}}, {{{3, 4, 5, 6}}, {{10, 11, 12, 4}}}, {1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 3}},
    {"COL2IM_1D", GGML_OP_COL2IM_1D, {{13, 4, 1, 1}}, {{{12, 7, 1, 1}}}, {2, 4, 1}},
    {"POOL_2D_BACK", GGML_OP_POOL_2D_BACK, {{10, 12, 3, 2}}, {{{5, 6, 3, 2}}, {{10, 12, 3, 2}}}, {GGML_OP_POOL_MAX, 2, 2, 2, 2}},
    {"SSM_SCAN", GGML_OP_SSM_SCAN, {{147456, 1, 1, 1}},
     {{{128, 128, 4, 2}}, {{128, 4, 16, 2}}, {{4, 16, 2, 1}}, {{1, 4, 1, 1}}, {{128, 4, 16, 2}}, {{128, 4, 16, 2}}, {{2, 1, 1, 1}, GGML_TYPE_I32}},
     {1}},
    {"RWKV_WKV6", GGML_OP_RWKV_WKV6, {{2048, 384, 1, 1}},
     {{{64, 32, 128, 1}}, {{64, 32, 128, 1}}, {{64, 32, 128, 1}}, {{64, 32, 1, 1}}, {{64, 32, 128, 1}}, {{131072, 4, 1, 1}}}, {}},
    {"RWKV_WKV7", GGML_OP_RWKV_WKV7, {{2048, 96, 1, 1}},
     {{{64, 32, 32, 1}}, {{64, 32, 32, 1}}, {{64, 32, 32, 1}}, {{64, 32, 32, 1}}, {{64, 32, 32, 1}}, {{64, 32, 32, 1}}, {{131072, 1, 1, 1}}}, {}},
    {"GATED_LINEAR_ATTN", GGML_OP_GATED_LINEAR_ATTN, {{2048, 96, 1, 1}},
     {{{64, 32, 32, 1}}, {{64, 32, 32, 1}}, {{64, 32, 32, 1}}, {{64, 32, 32, 1}}, {{131072, 1, 1, 1}}}, {}},
    {"GATED_DELTA_NET", GGML_OP_GATED_DELTA_NET, {{512, 264, 1, 1}},
     {{{32, 8, 4, 2}}, {{32, 8, 4, 2}}, {{32, 16, 4, 2}}, {{32, 16, 4, 2}}, {{1, 16, 4, 2}}, {{32, 32, 16, 2}}}, {4}},
    {"SOLVE_TRI", GGML_OP_SOLVE_TRI, {{9, 17, 2, 4}}, {{{17, 17, 2, 4}}, {{9, 17, 2, 4}}}, {}},
    {"LIGHTNING_INDEXER", GGML_OP_LIGHTNING_INDEXER, {{256, 512, 1, 4}},
     {{{128, 64, 512, 4}}, {{128, 1, 256, 4}}, {{64, 512, 1, 4}}, {{256, 512, 1, 1}, GGML_TYPE_F16}}, {}},
    {"DSV4_HC_COMB", GGML_OP_DSV4_HC_COMB, {{4, 4, 17, 1}}, {{{24, 17, 1, 1}}, {{3, 1, 1, 1}}, {{24, 1, 1, 1}}}, {897988541, 4}},
    {"DSV4_HC_PRE", GGML_OP_DSV4_HC_PRE, {{31, 17, 1, 1}}, {{{31, 4, 17, 1}}, {{4, 17, 1, 1}}}, {1065353216}},
    {"DSV4_HC_POST", GGML_OP_DSV4_HC_POST, {{31, 4, 17, 1}}, {{{31, 17, 1, 1}}, {{31, 4, 17, 1}}, {{4, 17, 1, 1}}, {{4, 4, 17, 1}}}, {}},
};

// The same numbers, rows and columns changed over.
WideTensorRecord transposed(WideTensorRecord record) {
    record.nb[1] = record.nb[0];
    record.nb[0] *= static_cast<uint64_t>(record.ne[1]);
    return record;
}

constexpr size_t none = SIZE_MAX;

bool supported(Loopback &host, const Op &op, size_t transposed_source = none) {
    WideSupportsOpRequest request;
    request.tensors = records_of(op);
    if (transposed_source != none) request.tensors[transposed_source + 1] = transposed(request.tensors[transposed_source + 1]);
    return host.call<WideSupportsOpReply>(Call::wide_supports_op, request).supported;
}

void rules() {
    auto host = cpu_loopback();
    for (const Op &op : ops) {
        expect(supported(*host, op), std::string(op.name) + " is refused");
        for (int i = 0; i < 4; ++i) {
            Op other = op;
            ++other.result.ne[i];
            expect(!supported(*host, other), std::string(op.name) + " with a result of another dimension " + std::to_string(i));
        }
        for (size_t i = 0; i < op.sources.size(); ++i) {
            Op other = op;
            other.sources.pop_back();
            bool optional = op.op == GGML_OP_DSV4_HC_POST;
            expect(supported(*host, other) == optional, std::string(op.name) + " without its last source");
        }
    }
    // What ggml-cpu itself says it can, and writes behind the end for; and what it can although rows are not dense.
    Shape head{{32, 64, 32, 1}};
    Op half{"RWKV_WKV7", GGML_OP_RWKV_WKV7, {{2048, 64, 1, 1}}, {head, head, head, head, head, head, {{65536, 1, 1, 1}}}, {}};
    expect(!supported(*host, half), "RWKV_WKV7 with heads of half a step");
    Op product{"OUT_PROD", GGML_OP_OUT_PROD, {{8, 6, 1, 1}}, {{{8, 4, 1, 1}}, {{6, 4, 1, 1}}}, {}};
    expect(supported(*host, product, 1), "OUT_PROD with a transposed second source is refused");
    expect(!supported(*host, product, 0), "OUT_PROD with a transposed first source");
    // The gradient is the first source, as ggml computes it, whatever its header calls the two.
    Op swapped{"IM2COL_BACK", GGML_OP_IM2COL_BACK, {{10, 11, 3, 2}}, {{{3, 3, 3, 4}}, {{27, 10, 11, 2}}}, {1, 1, 1, 1, 1, 1, 1}};
    expect(!supported(*host, swapped), "IM2COL_BACK with its sources changed over");
    Op converted{"CONT", GGML_OP_CONT, {{64, 8, 1, 1}}, {{{64, 8, 1, 1}, GGML_TYPE_F16}}, {}};
    expect(!supported(*host, converted), "CONT into another type");
    converted.sources[0].type = GGML_TYPE_F32;
    expect(supported(*host, converted), "CONT into the same type is refused");
    Op bad{"FLASH_ATTN_BACK", GGML_OP_FLASH_ATTN_BACK, {{16, 8, 4, 1}}, {{{16, 8, 4, 1}}, {{16, 8, 4, 1}}, {{16, 8, 4, 1}}, {{16, 8, 4, 1}}}, {}};
    expect(!supported(*host, bad), "an op that libggml itself does not make");
}

// Each with one thing changed: that, and the op.
std::vector<std::pair<std::string, Op>> changes(const Op &op) {
    std::vector<std::pair<std::string, Op>> all;
    auto add = [&](const std::string &what, auto change) { change(all.emplace_back(op.name + what, op).second); };
    for (size_t i = 0; i < op.parameters.size(); ++i)
        for (int32_t value : {-1, 0, op.parameters[i] + 1, op.parameters[i] - 1, INT32_MAX})
            if (value != op.parameters[i])
                add((value < 0 || value == INT32_MAX ? " any parameter " : " parameter ") + std::to_string(i), [&](Op &other) { other.parameters[i] = value; });
    for (uint32_t type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I32}) {
        if (type != op.result.type) add(" result type", [&](Op &other) { other.result.type = type; });
        for (size_t i = 0; i < op.sources.size(); ++i)
            if (type != op.sources[i].type) add(" source " + std::to_string(i) + " type", [&](Op &other) { other.sources[i].type = type; });
    }
    for (size_t i = 0; i < op.sources.size(); ++i)
        for (int d = 0; d < 4; ++d) add(" source " + std::to_string(i) + " dimension " + std::to_string(d), [&](Op &other) { ++other.sources[i].ne[d]; });
    return all;
}

// What is left to the guest: each was computed, too. A kernel's number of results, and of half of them its numbers, are nothing to who lays an image out.
const std::set<std::string> free_changes = {
    "WIN_PART source 0 dimension 1", "WIN_PART source 0 dimension 2", "IM2COL_BACK source 1 dimension 3",
    "IM2COL parameter 1", "IM2COL parameter 3", "IM2COL parameter 5",
    "IM2COL any parameter 1", "IM2COL any parameter 3", "IM2COL any parameter 5", "IM2COL any parameter 6",
    "IM2COL source 0 dimension 2", "IM2COL source 0 dimension 3", "IM2COL source 0 type",
    "IM2COL_3D result type", "IM2COL_3D source 0 dimension 3", "IM2COL_3D source 0 type", "IM2COL_3D source 1 dimension 3",
    "CONV_3D source 0 type", "POOL_2D_BACK parameter 0", "POOL_2D_BACK parameter 1", "POOL_2D_BACK parameter 2",
    "SSM_SCAN source 0 dimension 3", "LIGHTNING_INDEXER source 1 type", "LIGHTNING_INDEXER source 3 dimension 3",
    "DSV4_HC_COMB parameter 0", "DSV4_HC_COMB any parameter 0", "DSV4_HC_COMB parameter 1", "DSV4_HC_PRE parameter 0", "DSV4_HC_PRE any parameter 0",
};

void everything_else_is_refused() {
    auto host = cpu_loopback();
    std::set<std::string> taken;
    for (const Op &op : ops)
        for (const auto &[what, other] : changes(op))
            if (supported(*host, other)) taken.insert(what);
    for (const std::string &what : taken) expect(free_changes.count(what) != 0, what + " may be another one");
    for (const std::string &what : free_changes) expect(taken.count(what) != 0, what + " may be no other one");
}

void strides() {
    auto host = cpu_loopback();
    for (const unfit::Strided &each : unfit::strided) {
        const std::string what = each.op.name + std::string(" with other strides of tensor ") + std::to_string(each.tensor);
        expect(supported(*host, each.op), what + " is refused without them");
        WideSupportsOpRequest request;
        request.tensors = records_of(each.op);
        std::copy(std::begin(each.nb), std::end(each.nb), request.tensors[each.tensor].nb);
        expect(!host->call<WideSupportsOpReply>(Call::wide_supports_op, request).supported, what + " is supported");
    }
}

constexpr uint64_t far = uint64_t{1} << 30;
constexpr int32_t one = 0x3f800000; // as a float

// Each of two sequences chooses the one state, the same one.
Op scan(Shape state) {
    return {"SSM_SCAN", GGML_OP_SSM_SCAN, {{80, 1, 1, 1}},
            {std::move(state), {{4, 2, 1, 2}}, {{2, 1, 2, 1}}, {{1, 2, 1, 1}}, {{4, 1, 1, 2}}, {{4, 1, 1, 2}}, {{2, 1, 1, 1}, GGML_TYPE_I32}}, {1}};
}
Op scan_with(size_t source, Shape other) {
    Op op = scan({{4, 4, 2, 1}});
    op.sources[source] = std::move(other);
    return op;
}
Op experts(int64_t tokens, int64_t count, int64_t used) {
    return {"MUL_MAT_ID", GGML_OP_MUL_MAT_ID, {{1, used, tokens, 1}}, {{{1, 1, count, 1}}, {{1, 1, tokens, 1}}, {{used, tokens, 1, 1}, GGML_TYPE_I32}}, {}};
}
Op turned(std::vector<int32_t> sections) {
    std::vector<int32_t> parameters{0, 64, GGML_ROPE_TYPE_MROPE, 0, 0, 0x461c4000, one, 0, one, 0x42000000, one};
    parameters.insert(parameters.end(), sections.begin(), sections.end());
    return {"ROPE by sections", GGML_OP_ROPE, {{64, 1, 1, 1}}, {{{64, 1, 1, 1}}, {{4, 1, 1, 1}, GGML_TYPE_I32}}, parameters};
}
Op padded(int32_t before, int64_t length) {
    return {"PAD, circular", GGML_OP_PAD, {{length + before, 1, 1, 1}}, {{{length, 1, 1, 1}}}, {before, 0, 0, 0, 0, 0, 0, 0, 1}};
}
Op scaled(int64_t length, int32_t mode) { return {"UPSCALE", GGML_OP_UPSCALE, {{1, 1, 1, length}}, {{{1, 1, 1, 2}}}, {mode}}; }
Op made_channels(int64_t count) {
    return {"CONV_2D into many channels", GGML_OP_CONV_2D, {{1, 1, count, 1}}, {{{1, 1, 1, count}}, {{1, 1, 1, 1}}}, {1, 1, 0, 0, 1, 1}};
}
Op made_volumes(int32_t count) {
    return {"CONV_3D into many channels", GGML_OP_CONV_3D, {{1, 1, 1, count}}, {{{1, 1, 1, count}}, {{1, 1, 1, 1}}}, {1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, count}};
}
Op gated(Shape state) {
    Shape each{{64, 1, 1, 2}}, number{{1, 1, 1, 2}};
    return {"GATED_DELTA_NET", GGML_OP_GATED_DELTA_NET, {{64, 130, 1, 1}}, {each, each, each, number, number, std::move(state)}, {1}};
}
Op counted(Shape of) {
    of.type = GGML_TYPE_I32;
    return {"COUNT_EQUAL", GGML_OP_COUNT_EQUAL, {{1, 1, 1, 1}, GGML_TYPE_I64}, {of, of}, {}};
}
Op added(int64_t n, uint32_t type) { return {"ADD of blocks", GGML_OP_ADD, {{n, 1, 1, 1}, type}, {{{n, 1, 1, 1}, type}, {{n, 1, 1, 1}}}, {}}; }
// Into blocks, of so many numbers in each row of either side.
Op copied(ggml_type type, int64_t from, int64_t to) {
    constexpr int64_t count = 1 << 20;
    const Shape blocks{{to, count / to, 1, 1}, GGML_TYPE_Q8_0};
    return {"CPY into blocks", GGML_OP_CPY, blocks, {{{from, count / from, 1, 1}, static_cast<uint32_t>(type)}, blocks}, {}};
}
Op spread(Shape result, Shape kernel) {
    return {"CONV_TRANSPOSE_2D", GGML_OP_CONV_TRANSPOSE_2D, std::move(result), {std::move(kernel), {{1, 1, 1, 1}}}, {1}};
}
Op spread_row(int64_t batches) {
    return {"CONV_TRANSPOSE_1D", GGML_OP_CONV_TRANSPOSE_1D, {{8, 4, batches, 1}}, {{{4, 4, 3, 1}}, {{3, 3, batches, 1}}}, {2}};
}
Op unpooled(Shape result) {
    Shape same = {{64, 64, 1, 2}};
    return {"POOL_2D_BACK", GGML_OP_POOL_2D_BACK, std::move(result), {same, same}, {GGML_OP_POOL_AVG, 1, 1, 1, 1, 0, 0}};
}
// The most that a dimension, or the rows of a tensor, may be.
constexpr int64_t most = INT32_MAX - GGML_MAX_N_THREADS;
Op cut_rows(Shape each) { return {"TRI of many rows", GGML_OP_TRI, each, {each}, {GGML_TRI_TYPE_LOWER}}; }
Op grouped(int64_t channels, int64_t groups) {
    Shape each{{1, 1, channels, 1}};
    return {"GROUP_NORM of many channels", GGML_OP_GROUP_NORM, each, {each}, {static_cast<int32_t>(groups), one}};
}
#if APIR_GGML_GENERATION == 0
Op masked(ggml_op op, Shape result) { return {"DIAG_MASK", op, std::move(result), {{{4, 4, 1, 2}}}, {0}}; }
#endif
Op columns(Shape result, Shape image) {
    return {"IM2COL", GGML_OP_IM2COL, std::move(result), {{{1, 1, image.ne[2], 1}}, std::move(image)}, {1, 1, 0, 0, 1, 1, 1}};
}
// One sequence of one token, with states of `size` numbers for each of `rows`.
Op scanned(int64_t size, int64_t rows) {
    Shape number{{1, 1, 1, 1}}, input{{size, 1, 1, 1}};
    return {"SSM_SCAN of large states", GGML_OP_SSM_SCAN, {{rows, size + 1, 1, 1}},
            {{{size, rows, 1, 1}}, {{rows, 1, 1, 1}}, number, input, input, input, {{1, 1, 1, 1}, GGML_TYPE_I32}}, {1}};
}
Op slid(int64_t length, int64_t rows) {
    return {"SSM_CONV of a large kernel", GGML_OP_SSM_CONV, {{rows, 1, 1, 1}}, {{{length, rows, 1, 1}}, {{length, rows, 1, 1}}}, {}};
}
Op attended(int64_t rows, int64_t size = 1) {
    return {"FLASH_ATTN_EXT of many, or long, rows", GGML_OP_FLASH_ATTN_EXT, {{1, 8, rows, 1}},
            {{{size, rows, 8, 1}}, {{size, 1, 1, 1}}, {{1, 1, 1, 1}, GGML_TYPE_F16}}, {one}};
}
Op large_delta(int64_t size) {
    Shape each{{size, 1, 1, 1}}, number{{1, 1, 1, 1}};
    return {"GATED_DELTA_NET of large heads", GGML_OP_GATED_DELTA_NET, {{size, 1 + size, 1, 1}},
            {each, each, each, number, number, {{size, size, 1, 1}}}, {1}};
}
Op crossed(Shape a, Shape b) { return {"OUT_PROD", GGML_OP_OUT_PROD, {{4, 2, 1, 1}}, {std::move(a), std::move(b)}, {}}; }
Op combined(int64_t streams) {
    int64_t mixed = (2 + streams) * streams;
    return {"DSV4_HC_COMB", GGML_OP_DSV4_HC_COMB, {{streams, streams, 3, 1}}, {{{mixed, 3, 1, 1}}, {{3, 1, 1, 1}}, {{mixed, 1, 1, 1}}}, {one, 4}};
}

const Op harmful[] = {
    // Counters of ggml's that would wrap around.
    cut_rows({{1, INT32_MAX, 1, 1}}),
    cut_rows({{1, most + 1, 1, 1}}),
    cut_rows({{1, 46341, 46341, 1}}),
    grouped(most, most),
    grouped(1 << 30, 1 << 30),
    // Walked by other strides than bound them.
    scan({{4, 4, 2, 1}, GGML_TYPE_F32, {16, 64, far}}),
    scan({{4, 4, 2, 1}, GGML_TYPE_F32, {4, 4, 4}}),
    scan_with(1, {{4, 2, 1, 2}, GGML_TYPE_F32, {4, 4, 4096}}),
    scan_with(2, {{2, 1, 2, 1}, GGML_TYPE_F32, {far}}),
    scan_with(3, {{1, 2, 1, 1}, GGML_TYPE_F32, {0}}),
    scan_with(4, {{4, 1, 1, 2}, GGML_TYPE_F32, {4}}),
    scan_with(5, {{4, 1, 1, 2}, GGML_TYPE_F32, {4}}),
    spread({{64, 64, 2, 1}, GGML_TYPE_F32, {4, 65536, 131072}}, {{64, 64, 2, 1}}),
    spread({{64, 64, 2, 1}, GGML_TYPE_F32, {4, 65536, 131072}}, {{64, 64, 2, 1}, GGML_TYPE_F16}),
    spread({{64, 64, 2, 1}}, {{64, 64, 2, 1}, GGML_TYPE_F16, {2, 65536, 131072}}),
    unpooled({{64, 64, 1, 2}, GGML_TYPE_F32, {256, 0, 16384}}),
    unpooled({{64, 64, 1, 2}, GGML_TYPE_F32, {256, 4, 16384}}),
    unpooled({{64, 64, 1, 2}, GGML_TYPE_F32, {256, 24576, 16384}}),
#if APIR_GGML_GENERATION == 0
    masked(GGML_OP_DIAG_MASK_INF, {{4, 4, 1, 2}, GGML_TYPE_F32, {16, far, 64}}),
    masked(GGML_OP_DIAG_MASK_ZERO, {{4, 4, 1, 2}, GGML_TYPE_F32, {16, far, 64}}),
#endif
    columns({{2, 64, 64, 1}}, {{64, 64, 2, 1}, GGML_TYPE_F32, {4, 65536, 131072}}),
    columns({{1, 1, 1, 2}}, {{1, 1, 1, 2}, GGML_TYPE_F32, {4, 4, 2 * far}}),
    {"IM2COL_BACK", GGML_OP_IM2COL_BACK, {{32768, 16384, 1, 2}}, {{{1, 32768, 16384, 2}}, {{1, 1, 1, 1}}}, {1, 1, 0, 0, 1, 1, 1}},
    gated({{64 * 64 * 2, 1, 1, 1}}),
    crossed({{4, 32, 1, 1}, GGML_TYPE_F32, {69273668}}, {{2, 32, 1, 1}}),
    crossed({{4, 32, 1, 1}}, {{2, 32, 1, 1}, GGML_TYPE_F32, {69273668}}),
    // By their shapes and parameters.
    padded(2000, 100),
    scaled((1 << 24) + 4, GGML_SCALE_MODE_NEAREST),
    scaled((1 << 24) + 4, GGML_SCALE_MODE_BILINEAR),
    counted({{1, 1, 1000, 2}}),
    counted({{1, 2, 1000, 1}}),
    made_channels(4200000),
    made_volumes(4200000),
    turned({0, 0, 0, 5}),
    added(32, GGML_TYPE_Q8_1),
    added(256, GGML_TYPE_Q8_K),
    spread_row(3),
    copied(GGML_TYPE_F32, 1 << 20, 32),
    copied(GGML_TYPE_F16, 1 << 20, 32),
    copied(GGML_TYPE_BF16, 64, 32),
    experts(1000, 1000000, 1000),
    experts(1, 1 << 30, 1),
    experts(1, (1 << 25) - 1, 1),
    {"CONV_TRANSPOSE_1D of a large kernel", GGML_OP_CONV_TRANSPOSE_1D, {{1, 32768, 1, 1}}, {{{1, 32768, 65536, 1}}, {{1, 65536, 1, 1}}}, {1}},
    {"CONV_TRANSPOSE_2D of a large image", GGML_OP_CONV_TRANSPOSE_2D, {{32768, 65536, 1, 1}}, {{{1, 1, 1, 1}}, {{32768, 65536, 1, 1}}}, {1}},
    scanned(4096, (1 << 19) + 16),
    slid(4096, (1 << 19) + 16),
    attended(INT32_MAX), attended(1 << 28), attended(1, 1 << 18),
    large_delta(46341),
    combined(8),
    combined(1),
};

// What is as near to it as may be.
const Op harmless[] = {padded(100, 100),
                       cut_rows({{1, most, 1, 1}}),
                       grouped((1 << 30) - 1, 1 << 30 >> 1),
                       scaled(1 << 20, GGML_SCALE_MODE_NEAREST), scaled(1 << 20, GGML_SCALE_MODE_BILINEAR),
                       counted({{4, 1000, 1, 1}}),
                       made_channels(4000000), made_volumes(4000000),
                       crossed({{4, 32, 1, 1}, GGML_TYPE_F32, {69273664}}, {{2, 32, 1, 1}, GGML_TYPE_F32, {69273664}}),
                       crossed({{4, 31, 1, 1}, GGML_TYPE_F32, {far}}, {{2, 31, 1, 1}}),
                       turned({0, 0, 1, 5}),
                       spread_row(1),
                       copied(GGML_TYPE_F32, 32, 1 << 20), copied(GGML_TYPE_F16, 64, 64),
                       experts(32768, 512, 16), experts(1, (1 << 25) - 2, 1),
                       scanned(4096, (1 << 19) - 1), slid(4096, (1 << 19) - 1),
                       attended(most / 8), attended(1, 1 << 16),
                       large_delta(46340),
                       combined(4),
                       gated({{64, 64, 1, 2}}),
                       columns({{1, 1, 1, 1}}, {{1, 1, 1, 1}, GGML_TYPE_F32, {4, 4, 2 * far}}),
                       scan_with(1, {{4, 2, 1, 2}, GGML_TYPE_F32, {16, 32, 4096}})};

// Whether it is refused, by a library that may end of it. True for what the buffer has no room for.
bool refused_as_graph(Loopback &host, uint64_t buffer, uint64_t size, const Op &op, bool computed = true) {
    std::vector<WideTensorRecord> records = records_of(op);
    if (computed) records[0].flags = static_cast<int32_t>(tensor_flag_compute);
    uint64_t at = 0;
    for (WideTensorRecord &record : records) {
        record.buffer = buffer;
        record.data = at;
        at += (reach_of(record) + 63) / 64 * 64;
    }
    if (at > size) return true;
    WideGraph graph;
    graph.tensors.assign(records.rbegin(), records.rend());
    graph.nodes = {1};
    std::vector<uint8_t> bytes = Loopback::encoded(graph);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        std::copy(bytes.begin(), bytes.end(), host.resource(Loopback::data_resource).data());
        auto code = host.code(Call::wide_graph_compute, WideGraphComputeRequest{Loopback::data_resource, bytes.size()});
        _exit(code == 1 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0;
}

void bounds() {
    auto host = cpu_loopback();
    constexpr uint64_t size = 80 << 20;
    uint64_t buffer = new_buffer(*host, size);
    for (const Op &op : harmful) {
        expect(!supported(*host, op), text_of(op) + " is supported");
        expect(refused_as_graph(*host, buffer, size, op), text_of(op) + " is computed, or ends the process");
        Op packed = op;
        bool strided = !op.result.nb.empty();
        packed.result.nb.clear();
        for (Shape &source : packed.sources) strided |= !source.nb.empty(), source.nb.clear();
        expect(!strided || supported(*host, packed), text_of(op) + " is refused without its strides");
    }
    for (const Op &op : harmless) expect(supported(*host, op), text_of(op) + " is refused");
    for (const Op &op : unfit::ops) {
        expect(!supported(*host, op), text_of(op) + " is supported");
        expect(refused_as_graph(*host, buffer, size, op), text_of(op) + " is computed, or ends the process");
    }
}

// What ggml plans is planned for a node that is not computed, too.
void plans() {
    auto host = cpu_loopback();
    constexpr uint64_t size = 240 << 20;
    uint64_t buffer = new_buffer(*host, size);
    for (const auto &[refused, admitted] : planned::ops) {
        expect(supported(*host, admitted), text_of(admitted) + " is refused");
        expect(!supported(*host, refused), text_of(refused) + " is supported");
        expect(refused_as_graph(*host, buffer, size, refused), text_of(refused) + " is computed");
        expect(refused_as_graph(*host, buffer, size, refused, false), text_of(refused) + " is planned for without being computed");
    }
}

} // namespace

int main(int count, char **values) {
    setenv("GGML_NO_BACKTRACE", "1", 1);
    return run_cases({{"rules", rules},
                      {"everything_else_is_refused", everything_else_is_refused},
                      {"strides", strides},
                      {"bounds", bounds},
                      {"plans", plans}},
                     count > 1 ? values[1] : nullptr);
}
