// Rules of ops whose constructors are few programs': each is accepted as ggml makes it, and refused when any dimension of its
// result or the first one of a source is another. (That no case of test-backend-ops is refused: host-rules.)
#include <ggml.h>

#include <cstring>

#include "host_loopback.hpp"

using namespace apir;
using namespace apir::test;

namespace {

struct Shape {
    int64_t ne[4];
    uint32_t type = GGML_TYPE_F32;
};

struct Op {
    const char *name;
    ggml_op op;
    Shape result;
    std::vector<Shape> sources;
    std::vector<int32_t> parameters;
};

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

WideTensorRecord record_of(const Shape &shape, uint64_t id) {
    WideTensorRecord record;
    record.id = id;
    record.type = shape.type;
    uint64_t stride = shape.type == GGML_TYPE_F16 || shape.type == GGML_TYPE_BF16 ? 2 : 4;
    for (int i = 0; i < 4; ++i) {
        record.ne[i] = shape.ne[i];
        record.nb[i] = stride;
        stride *= static_cast<uint64_t>(shape.ne[i]);
    }
    return record;
}

// The same numbers, rows and columns changed over.
WideTensorRecord transposed(WideTensorRecord record) {
    record.nb[1] = record.nb[0];
    record.nb[0] *= static_cast<uint64_t>(record.ne[1]);
    return record;
}

constexpr size_t none = SIZE_MAX;

bool supported(Loopback &host, const Op &op, size_t transposed_source = none) {
    WideSupportsOpRequest request;
    request.tensors.push_back(record_of(op.result, 1));
    WideTensorRecord first = request.tensors[0];
    first.op = op.op;
    if (!op.parameters.empty()) std::memcpy(first.op_params, op.parameters.data(), op.parameters.size() * sizeof(int32_t));
    for (size_t i = 0; i < op.sources.size(); ++i) {
        first.src[i] = i + 2;
        WideTensorRecord source = record_of(op.sources[i], i + 2);
        request.tensors.push_back(i == transposed_source ? transposed(source) : source);
    }
    request.tensors[0] = first;
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
            ++other.sources[i].ne[0];
            expect(!supported(*host, other), std::string(op.name) + " with a longer source " + std::to_string(i));
            other = op;
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

} // namespace

int main(int count, char **values) { return run_cases({{"rules", rules}}, count > 1 ? values[1] : nullptr); }
