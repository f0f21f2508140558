// Which ops ggml-cuda is given: none of those that it says it computes and then asserts against. What is taken, and what is refused, was seen on an H200.
#include <string>

#include <ggml-cpp.h>

#include "abi/backend_interface.hpp"
#include "host/cuda_layout.hpp"
#include "host_expect.hpp"

using namespace apir::host;
using apir::test::expect;

namespace {

class Shapes {
  public:
    Shapes() : context_(ggml_init({size_t{1} << 20, nullptr, true})) {}

    ggml_context *context() const { return context_.get(); }
    ggml_tensor *leaf(ggml_type type, int64_t a, int64_t b = 1, int64_t c = 1) const { return ggml_new_tensor_3d(context(), type, a, b, c); }
    // The first `a` columns of a wider matrix: rows begin `wide` elements apart.
    ggml_tensor *slice(ggml_type type, int64_t a, int64_t b, int64_t wide) const {
        ggml_tensor *all = leaf(type, wide, b);
        return ggml_view_2d(context(), all, a, b, all->nb[1], 0);
    }

  private:
    ggml_context_ptr context_;
};

void sums() {
    Shapes s;
    expect(has_cuda_kernel(*ggml_sum(s.context(), s.leaf(GGML_TYPE_F32, 8, 4))), "a sum of an array");
    expect(has_cuda_kernel(*ggml_sum(s.context(), ggml_transpose(s.context(), s.leaf(GGML_TYPE_F32, 8, 4)))), "a sum in another order");
    expect(!has_cuda_kernel(*ggml_sum(s.context(), s.slice(GGML_TYPE_F32, 8, 4, 16))), "a sum with gaps");
    expect(!has_cuda_kernel(*ggml_sum(s.context(), s.leaf(GGML_TYPE_F16, 8, 4))), "a sum of half precision");
}

void sets() {
    Shapes s;
    ggml_tensor *whole = s.leaf(GGML_TYPE_F32, 16, 8);
    auto set = [&](ggml_tensor *part) { return ggml_set(s.context(), whole, part, whole->nb[1], whole->nb[2], whole->nb[3], 0); };
    expect(has_cuda_kernel(*set(s.leaf(GGML_TYPE_F32, 8, 4))), "SET of an array");
    expect(!has_cuda_kernel(*set(s.slice(GGML_TYPE_F32, 8, 4, 9))), "SET of what lies apart");
}

void heads() {
    for (int64_t size : {32, 64, 96, 128, 256}) {
        Shapes s;
        ggml_tensor *each = s.leaf(GGML_TYPE_F32, size, 2, 5);
        ggml_tensor *state = s.leaf(GGML_TYPE_F32, size * size * 2);
        const bool made_for = size == 64 || size == 128;
        const std::string name = " with heads of " + std::to_string(size);
        ggml_tensor *gated = ggml_gated_linear_attn(s.context(), each, each, each, each, state, 1);
        expect(has_cuda_kernel(*gated) == made_for, "GATED_LINEAR_ATTN" + name);
        ggml_tensor *six = ggml_rwkv_wkv6(s.context(), each, each, each, s.leaf(GGML_TYPE_F32, size, 2), each, state);
        expect(has_cuda_kernel(*six) == made_for, "RWKV_WKV6" + name);
        ggml_tensor *seven = ggml_rwkv_wkv7(s.context(), each, each, each, each, each, each, state);
        expect(has_cuda_kernel(*seven) == made_for, "RWKV_WKV7" + name);
    }
}

void attention() {
    for (int64_t size : {64, 80, 128, 256}) {
        for (float cap : {0.0F, 10.0F}) {
            Shapes s;
            ggml_tensor *q = s.leaf(GGML_TYPE_F32, size, 3, 4);
            ggml_tensor *kv = s.leaf(GGML_TYPE_F16, size, 64, 4);
            ggml_tensor *node = ggml_flash_attn_ext(s.context(), q, kv, kv, nullptr, 1, 0, cap);
            const bool made_for = cap == 0 || size == 128 || size == 256;
            expect(has_cuda_kernel(*node) == made_for, "attention of " + std::to_string(size) + (cap == 0 ? "" : " with a cap"));
        }
    }
}

void products() {
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16}) {
        Shapes s;
        ggml_tensor *matrix = s.slice(type, 32, 16, 64);
        ggml_tensor *odd = s.slice(GGML_TYPE_F32, 32, 2, 33);
        expect(!has_cuda_kernel(*ggml_mul_mat(s.context(), matrix, odd)), "columns that begin at odd places");
        expect(has_cuda_kernel(*ggml_mul_mat(s.context(), matrix, s.slice(GGML_TYPE_F32, 32, 2, 34))), "at even ones");
        expect(has_cuda_kernel(*ggml_mul_mat(s.context(), matrix, s.slice(GGML_TYPE_F32, 32, 17, 33))), "many columns");
        expect(has_cuda_kernel(*ggml_mul_mat(s.context(), s.slice(type, 32, 16, 33), odd)), "a matrix that begins so, too");
    }
    Shapes s;
    ggml_tensor *blocks = s.leaf(GGML_TYPE_Q8_0, 32, 16);
    expect(has_cuda_kernel(*ggml_mul_mat(s.context(), blocks, s.slice(GGML_TYPE_F32, 32, 2, 33))), "blocks are made numbers of their own");
}

void products_by_experts() {
    Shapes s;
    ggml_tensor *experts = s.leaf(GGML_TYPE_Q8_0, 32, 16, 4);
    ggml_tensor *ids = s.leaf(GGML_TYPE_I32, 2, 5);
    auto chosen = [&](ggml_tensor *matrices, ggml_tensor *columns) { return has_cuda_kernel(*ggml_mul_mat_id(s.context(), matrices, columns, ids)); };
    ggml_tensor *wide = s.leaf(GGML_TYPE_F32, 48, 2, 5);
    auto view = [&](size_t row, size_t plane) { return ggml_view_3d(s.context(), wide, 32, 2, 5, row * 4, plane * 4, 0); };
    expect(chosen(experts, s.leaf(GGML_TYPE_F32, 32, 2, 5)), "columns in an array");
    expect(chosen(experts, view(34, 68)), "columns apart");
    expect(!chosen(experts, view(34, 70)), "tokens that do not begin whole columns apart");
    expect(chosen(experts, view(33, 66)), "blocks are made numbers of their own");
    expect(!chosen(s.leaf(GGML_TYPE_F16, 32, 16, 4), view(33, 66)), "columns that begin at odd places");
}

void outer_products() {
    Shapes s;
    auto outer = [&](int64_t n, int64_t k) {
        ggml_tensor *b = ggml_transpose(s.context(), s.leaf(GGML_TYPE_F32, k, n));
        return ggml_out_prod(s.context(), s.leaf(GGML_TYPE_F32, 16, k), b);
    };
    expect(has_cuda_kernel(*outer(5, 3)), "a transposed source");
    expect(has_cuda_kernel(*outer(1, 1)), "of a single number");
    expect(!has_cuda_kernel(*outer(5, 1)), "of a single row");
    ggml_tensor *turned = ggml_permute(s.context(), s.leaf(GGML_TYPE_F32, 4, 5, 3), 2, 0, 1, 3);
    ggml_tensor *a = s.leaf(GGML_TYPE_F32, 16, turned->ne[1], turned->ne[2]);
    expect(!has_cuda_kernel(*ggml_out_prod(s.context(), a, turned)), "of elements that lie apart along both axes");
    expect(has_cuda_kernel(*ggml_out_prod(s.context(), s.leaf(GGML_TYPE_F32, 16, 1), s.leaf(GGML_TYPE_F32, 5, 1))), "and one that is an array");
}

void strides() {
    Shapes s;
    ggml_tensor *a = s.leaf(GGML_TYPE_F32, 8, 4);
    auto taken = [](ggml_tensor *node) { return has_cuda_kernel(*node); };
    ggml_tensor *scaled = ggml_scale(s.context(), a, 2);
    expect(taken(scaled), "a result in an array");
    scaled->nb[1] *= 2;
    expect(!taken(scaled), "SCALE with a result that lies apart");
    ggml_tensor *sum = ggml_add_inplace(s.context(), s.slice(GGML_TYPE_F32, 8, 4, 16), a);
    expect(taken(sum), "ADD goes by its result's strides");
    a->nb[1] += 2;
    expect(!taken(sum), "ADD of what lies half a number apart");
    a->nb[1] = (size_t{1} << 32) * sizeof(float);
    expect(!taken(sum), "ADD of what lies farther apart than kernels count");
    a->nb[1] -= sizeof(float);
    expect(taken(sum), "or as far as they do");
    sum->nb[2] = (size_t{1} << 32) * sizeof(float); // of a dimension of one
    expect(!taken(sum), "and its result");
    ggml_tensor *array = s.leaf(GGML_TYPE_F32, 8, 1, 4);
    ggml_tensor *doubled = ggml_add(s.context(), array, array);
    for (ggml_tensor *tensor : {array, doubled}) {
        const size_t stride = tensor->nb[1];
        tensor->nb[1] = (size_t{1} << 30) * sizeof(float); // of a dimension of one, in front of one of four
        expect(!taken(doubled), "ADD of arrays, whose dimensions are taken together");
        tensor->nb[1] -= sizeof(float);
        expect(taken(doubled), "or as far");
        tensor->nb[1] = stride;
    }
    ggml_tensor *large = ggml_permute(s.context(), s.leaf(GGML_TYPE_F32, 128, 64, 8192), 0, 2, 1, 3);
    expect(taken(ggml_add(s.context(), large, large)), "ADD in another order, whose strides are less");
    ggml_tensor *gate = ggml_clamp(s.context(), s.slice(GGML_TYPE_F32, 8, 4, 16), 0, 1);
    expect(taken(gate), "CLAMP in place");
    gate->nb[0] *= 2;
    expect(!taken(gate), "CLAMP into rows that are none");
    gate->nb[0] /= 2;
    gate->src[0]->nb[0] *= 2;
    expect(!taken(gate), "CLAMP of such");
    ggml_tensor *blocks = s.leaf(GGML_TYPE_Q4_0, 64, 4);
    ggml_tensor *rows = ggml_get_rows(s.context(), blocks, s.leaf(GGML_TYPE_I32, 2));
    expect(taken(rows) && has_cuda_blocks(*blocks), "rows of blocks");
    blocks->nb[0] *= 2;
    expect(!taken(rows) && !has_cuda_blocks(*blocks), "blocks that lie apart");
}

void pairs() {
    Shapes s;
    ggml_tensor *places = s.leaf(GGML_TYPE_I32, 3);
    auto turned = [&](int64_t wide) {
        ggml_tensor *all = s.leaf(GGML_TYPE_F32, wide, 2, 3);
        ggml_tensor *part = ggml_view_3d(s.context(), all, 8, 2, 3, all->nb[1], all->nb[2], 0);
        return ggml_rope(s.context(), part, places, 8, 0);
    };
    expect(has_cuda_kernel(*turned(8)) && has_cuda_kernel(*turned(9)), "ROPE of rows wherever they begin");
    ggml_tensor *result = turned(8);
    for (int axis : {1, 2, 3}) {
        result->nb[axis] += sizeof(float);
        expect(!has_cuda_kernel(*result), "ROPE into rows that begin within a pair");
        result->nb[axis] += sizeof(float);
        expect(has_cuda_kernel(*result), "ROPE into rows that begin with one");
    }
}

void parameters() {
    Shapes s;
    ggml_tensor *whole = s.leaf(GGML_TYPE_F32, 16, 8);
    ggml_tensor *part = s.leaf(GGML_TYPE_F32, 8, 4);
    for (ggml_tensor *node : {ggml_set(s.context(), whole, part, whole->nb[1], whole->nb[2], whole->nb[3], 4),
                              ggml_acc(s.context(), whole, part, whole->nb[1], whole->nb[2], whole->nb[3], 4)}) {
        const std::string name = ggml_op_name(node->op);
        expect(has_cuda_kernel(*node), name + " behind a number");
        for (int at : {0, 1, 2, 3}) {
            node->op_params[at] += 2;
            expect(!has_cuda_kernel(*node), name + " behind half of one, by parameter " + std::to_string(at));
            node->op_params[at] -= 2;
        }
    }
    ggml_tensor *experts = s.leaf(GGML_TYPE_Q8_0, 32, 16, 4);
    for (ggml_tensor *node : {ggml_mul_mat(s.context(), s.leaf(GGML_TYPE_Q8_0, 32, 16), s.leaf(GGML_TYPE_F32, 32, 2)),
                              ggml_mul_mat_id(s.context(), experts, s.leaf(GGML_TYPE_F32, 32, 2, 5), s.leaf(GGML_TYPE_I32, 2, 5))}) {
        const std::string name = ggml_op_name(node->op);
        expect(ggml_prec_set_acc(node, GGML_PREC_F32) && ggml_prec_set_src(node, GGML_PREC_Q4, 1) && has_cuda_kernel(*node), name + " of a precision");
        for (int at : {0, 3}) {
            const int32_t kept = node->op_params[at];
            node->op_params[at] = 7;
            expect(!has_cuda_kernel(*node), name + " of one that ggml does not have");
            node->op_params[at] = kept;
        }
        for (int32_t precision : {GGML_PREC_F32, GGML_PREC_BF16, GGML_PREC_F16}) {
            node->op_params[3] = precision;
            expect(!has_cuda_kernel(*node), name + " by blocks of numbers");
            node->src[0]->type = GGML_TYPE_F32;
            node->src[0]->nb[0] = sizeof(float);
            for (int axis : {1, 2, 3}) node->src[0]->nb[axis] = node->src[0]->nb[axis - 1] * static_cast<size_t>(node->src[0]->ne[axis - 1]);
            expect(has_cuda_kernel(*node), name + " of numbers by them");
            *node->src[0] = *ggml_new_tensor(s.context(), GGML_TYPE_Q8_0, GGML_MAX_DIMS, node->src[0]->ne);
        }
    }
}

void sources_alike() {
    Shapes s;
    ggml_tensor *signal = s.leaf(GGML_TYPE_F32, 9, 2);
    ggml_tensor *kernel = s.leaf(GGML_TYPE_F32, 3, 4, 2);
    ggml_tensor *convolved = ggml_conv_transpose_1d(s.context(), kernel, signal, 1, 0, 1);
    ggml_tensor *picture = s.leaf(GGML_TYPE_F32, 9, 9, 2);
    ggml_tensor *kernels = ggml_new_tensor_4d(s.context(), GGML_TYPE_F16, 3, 3, 4, 2);
    ggml_tensor *spread = ggml_conv_transpose_2d_p0(s.context(), kernels, picture, 1);
    ggml_tensor *gradients = ggml_get_rows_back(s.context(), s.leaf(GGML_TYPE_F32, 8, 3), s.leaf(GGML_TYPE_I32, 3), s.leaf(GGML_TYPE_F32, 8, 5));
    for (ggml_tensor *node : {convolved, spread, gradients}) {
        const std::string name = ggml_op_name(node->op);
        expect(has_cuda_kernel(*node), name + " of arrays");
        for (ggml_tensor *source : {node->src[0], node->src[1]}) {
            source->nb[0] *= 2;
            expect(!has_cuda_kernel(*node), name + " of what lies apart");
            source->nb[0] /= 2;
        }
    }
    ggml_tensor *queries = s.leaf(GGML_TYPE_F32, 128, 4, 1);
    ggml_tensor *keys = s.leaf(GGML_TYPE_F16, 128, 1, 256);
    ggml_tensor *scores = ggml_lightning_indexer(s.context(), queries, keys, s.leaf(GGML_TYPE_F32, 4), s.leaf(GGML_TYPE_F16, 256));
    expect(has_cuda_kernel(*scores), "LIGHTNING_INDEXER");
    for (int axis : {1, 2, 3}) { // all of one
        const size_t stride = scores->nb[axis];
        scores->nb[axis] = 0;
        expect(!has_cuda_kernel(*scores), "LIGHTNING_INDEXER whose strides do not rise");
        scores->nb[axis] = stride;
    }
    ggml_tensor *q = ggml_new_tensor_4d(s.context(), GGML_TYPE_F32, 64, 2, 5, 1);
    ggml_tensor *k = ggml_dup_tensor(s.context(), q);
    ggml_tensor *v = ggml_dup_tensor(s.context(), q);
    ggml_tensor *one = ggml_new_tensor_4d(s.context(), GGML_TYPE_F32, 1, 2, 5, 1);
    ggml_tensor *state = ggml_new_tensor_4d(s.context(), GGML_TYPE_F32, 64, 64, 2, 1);
    ggml_tensor *net = ggml_gated_delta_net(s.context(), q, k, v, one, ggml_dup_tensor(s.context(), one), state, 1);
    expect(has_cuda_kernel(*net), "GATED_DELTA_NET of queries and keys alike");
    k->nb[3] += sizeof(float);
    expect(!has_cuda_kernel(*net), "GATED_DELTA_NET of such that lie otherwise");
}

// In host memory, of ggml-base's own kind: what of it ggml-cuda would want more of is the test's.
void places() {
    Shapes s;
    alignas(64) static uint8_t memory[4096];
    ggml_backend_buffer_ptr buffer(ggml_backend_cpu_buffer_from_ptr(memory, sizeof memory));
    auto placed = [&](ggml_tensor *tensor, size_t at) {
        tensor->buffer = buffer.get();
        tensor->data = memory + at;
        return tensor;
    };
    ggml_tensor *half = placed(s.leaf(GGML_TYPE_F16, 8), 64);
    ggml_tensor *sum = placed(ggml_add(s.context(), half, placed(s.leaf(GGML_TYPE_F16, 8), 96)), 128);
    expect(has_cuda_layout(*sum), "numbers at their places");
    for (ggml_tensor *tensor : {sum, sum->src[0], sum->src[1]}) {
        placed(tensor, 193);
        expect(!has_cuda_layout(*sum), "numbers between their places");
        placed(tensor, 194);
        expect(has_cuda_layout(*sum), "numbers at odd ones");
    }
    ggml_tensor *turned = placed(ggml_rope(s.context(), placed(s.leaf(GGML_TYPE_F32, 8, 1, 1), 64), placed(s.leaf(GGML_TYPE_I32, 1), 96), 8, 0), 128);
    expect(has_cuda_layout(*turned), "pairs at their places");
    placed(turned->src[0], 260);
    expect(has_cuda_layout(*turned), "read where they like");
    placed(turned, 260);
    expect(!has_cuda_layout(*turned), "and written between their places");
    // By words of two bytes, of four, and of one.
    for (auto [type, word] : {std::pair{GGML_TYPE_Q8_0, size_t{2}}, {GGML_TYPE_Q4_1, size_t{4}}, {GGML_TYPE_MXFP4, size_t{1}}}) {
        ggml_tensor *blocks = s.leaf(type, 256, 2);
        ggml_tensor *node = placed(ggml_get_rows(s.context(), placed(blocks, 64), placed(s.leaf(GGML_TYPE_I32, 1), 32)), 2048);
        const std::string name = ggml_type_name(type);
        placed(blocks, 64 + word);
        expect(has_cuda_layout(*node), name + " at a word's place");
        placed(blocks, 64 + word / 2);
        expect(has_cuda_layout(*node) == (word == 1), name + " between them");
        placed(blocks, sizeof memory - ggml_nbytes(blocks));
        expect(has_cuda_room(*blocks), name + " at the end");
        placed(blocks, sizeof memory - ggml_nbytes(blocks) + 1);
        expect(!has_cuda_room(*blocks), name + " beyond it");
        placed(blocks, 64);
        blocks->nb[0] *= 2;
        expect(!has_cuda_room(*blocks), name + " apart");
    }
    ggml_tensor *number = placed(s.leaf(GGML_TYPE_F32, 1024), 4);
    expect(has_cuda_room(*number), "of numbers no row is filled up");
    ggml_tensor *kv = placed(s.leaf(GGML_TYPE_F16, 64, 1, 1), 0);
    ggml_tensor *attention = placed(ggml_flash_attn_ext(s.context(), placed(s.leaf(GGML_TYPE_F32, 64, 1, 1), 0), kv, kv, nullptr, 1, 0, 0), sizeof memory - 256);
    expect(has_cuda_layout(*attention), "attention at the end");
    placed(attention, sizeof memory - 252);
    expect(!has_cuda_layout(*attention), "attention beyond it");
}

void copies() {
    Shapes s;
    for (ggml_type type : {GGML_TYPE_F32, GGML_TYPE_Q8_0}) {
        ggml_tensor *turned = ggml_permute(s.context(), s.leaf(type, 256, 3, 2), 0, 2, 1, 3);
        expect(has_cuda_kernel(*ggml_cont(s.context(), turned)) == (type == GGML_TYPE_F32), "CONT of planes turned");
        expect(has_cuda_kernel(*ggml_dup(s.context(), turned)) == (type == GGML_TYPE_F32), "DUP of planes turned");
        expect(has_cuda_kernel(*ggml_cont(s.context(), s.leaf(type, 256, 3, 2))), "CONT of an array");
    }
}

void functions() {
    Shapes s;
    ggml_tensor *apart = s.slice(GGML_TYPE_F32, 8, 4, 16);
    expect(!has_cuda_kernel(*ggml_xielu(s.context(), apart, 1, 1, 1, 1)), "XIELU with gaps");
    expect(has_cuda_kernel(*ggml_xielu(s.context(), s.leaf(GGML_TYPE_F32, 8, 4), 1, 1, 1, 1)), "XIELU of an array");
    expect(has_cuda_kernel(*ggml_silu(s.context(), apart)), "another function says itself what it takes");
}

template <const char *const &name> bool is_one_of_its_devices() {
    ggml_backend_reg registry{};
    registry.iface.get_name = [](ggml_backend_reg_t) { return name; };
    ggml_backend_device device{};
    device.reg = &registry;
    return has_cuda_kernels(&device);
}
constexpr const char *cuda = "CUDA";
constexpr const char *rocm = "ROCm";
constexpr const char *musa = "MUSA";
constexpr const char *cpu = "CPU";
constexpr const char *vulkan = "Vulkan";

void its_devices_are_known() {
    expect(is_one_of_its_devices<cuda>() && is_one_of_its_devices<rocm>() && is_one_of_its_devices<musa>(), "devices with its kernels");
    expect(!is_one_of_its_devices<cpu>() && !is_one_of_its_devices<vulkan>(), "others have kernels of their own");
}

} // namespace

int main() {
    sums();
    sets();
    heads();
    attention();
    products();
    products_by_experts();
    outer_products();
    copies();
    strides();
    pairs();
    parameters();
    sources_alike();
    places();
    functions();
    its_devices_are_known();
    return apir::test::failures == 0 ? 0 : 1;
}
