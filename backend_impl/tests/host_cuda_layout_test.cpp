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
    functions();
    its_devices_are_known();
    return apir::test::failures == 0 ? 0 : 1;
}
