// Which tensors ggml-vulkan is given: aligned ones, others where its shaders step over what lies before them, and none that it has no shader for.
#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ggml-cpp.h>

#include "abi/backend_interface.hpp"
#include "host/vulkan_layout.hpp"
#include "host_expect.hpp"

using namespace apir::host;
using apir::test::expect;

namespace {

constexpr size_t memory_bytes = 1 << 16;
constexpr size_t slot = 1024; // for each tensor

// Tensors in memory of the CPU's, which is aligned as a Vulkan device's may be.
class Bench {
  public:
    Bench() : buffer_(ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), memory_bytes)) {
        ggml_init_params parameters{memory_bytes, nullptr, true};
        context_.reset(ggml_init(parameters));
    }

    ggml_context *context() const { return context_.get(); }
    ggml_tensor *leaf(ggml_type type) const { return ggml_new_tensor_2d(context_.get(), type, 32, 4); }

    // Gives all tensors memory; `moved` begins so many bytes behind an aligned address.
    void place(ggml_tensor *moved, size_t bytes) {
        size_t next = 0;
        for (ggml_tensor *at = ggml_get_first_tensor(context_.get()); at != nullptr; at = ggml_get_next_tensor(context_.get(), at)) {
            at->buffer = buffer_.get();
            at->data = static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer_.get())) + next + (at == moved ? bytes : 0);
            next += slot;
        }
    }

  private:
    ggml_backend_buffer_ptr buffer_;
    ggml_context_ptr context_;
};

void aligned_is_taken() {
    Bench bench;
    ggml_tensor *sorted = ggml_argsort(bench.context(), bench.leaf(GGML_TYPE_F32), GGML_SORT_ORDER_ASC);
    bench.place(nullptr, 0);
    expect(has_vulkan_layout(*sorted), "an aligned op that asserts it");
}

void misaligned_is_refused_where_it_is_asserted() {
    Bench bench;
    ggml_tensor *source = bench.leaf(GGML_TYPE_F32);
    ggml_tensor *sorted = ggml_argsort(bench.context(), source, GGML_SORT_ORDER_ASC);
    bench.place(source, 4);
    expect(!has_vulkan_layout(*sorted), "a misaligned source is refused");
    bench.place(sorted, 4);
    expect(!has_vulkan_layout(*sorted), "a misaligned result is refused");
    Bench other;
    ggml_tensor *counted = ggml_arange(other.context(), 0, 10, 1);
    other.place(counted, 8);
    expect(!has_vulkan_layout(*counted), "an op without sources as well");
}

void misaligned_is_taken_by_whole_elements() {
    Bench bench;
    ggml_tensor *source = bench.leaf(GGML_TYPE_F32);
    ggml_tensor *sum = ggml_add(bench.context(), source, bench.leaf(GGML_TYPE_F32));
    bench.place(source, 4);
    expect(has_vulkan_layout(*sum), "an op that steps over whole elements");
    bench.place(source, 2);
    expect(!has_vulkan_layout(*sum), "half an element is none");
    ggml_tensor *half = bench.leaf(GGML_TYPE_F16);
    ggml_tensor *copied = ggml_cont(bench.context(), half);
    bench.place(half, 2);
    expect(has_vulkan_layout(*copied), "two bytes are a whole element of another type");
    ggml_tensor *blocks = bench.leaf(GGML_TYPE_Q8_0);
    ggml_tensor *numbers = ggml_cpy(bench.context(), blocks, bench.leaf(GGML_TYPE_F32));
    bench.place(blocks, 8);
    expect(has_vulkan_layout(*numbers), "a block whole blocks behind some aligned address");
    bench.place(blocks, 7);
    expect(!has_vulkan_layout(*numbers), "no number of blocks is odd");
    blocks->data = static_cast<uint8_t *>(ggml_backend_buffer_get_base(blocks->buffer)) + 8;
    expect(!has_vulkan_layout(*numbers), "the buffer begins before that address");
    blocks->data = static_cast<uint8_t *>(ggml_backend_buffer_get_base(blocks->buffer)) + ggml_type_size(blocks->type);
    expect(has_vulkan_layout(*numbers), "a slice of a tensor at the buffer's begin");
}

// ggml-vulkan computes these together with the product, and binds the addend as it is.
void addend_of_a_product_is_aligned() {
    Bench bench;
    ggml_tensor *product = ggml_mul_mat(bench.context(), bench.leaf(GGML_TYPE_F32), bench.leaf(GGML_TYPE_F32));
    ggml_tensor *addend = ggml_new_tensor_2d(bench.context(), GGML_TYPE_F32, product->ne[0], product->ne[1]);
    ggml_tensor *sum = ggml_add(bench.context(), product, addend);
    bench.place(addend, 4);
    expect(!has_vulkan_layout(*sum), "a misaligned addend of a product is refused");
    ggml_tensor *third = ggml_new_tensor_2d(bench.context(), GGML_TYPE_F32, product->ne[0], product->ne[1]);
    ggml_tensor *longer = ggml_add(bench.context(), sum, third);
    bench.place(third, 4);
    expect(!has_vulkan_layout(*longer), "and the addend of that sum");
    bench.place(nullptr, 0);
    expect(has_vulkan_layout(*sum) && has_vulkan_layout(*longer), "aligned ones are taken");
    // As behind a product by experts, and behind what is added to that.
    for (ggml_op before : {GGML_OP_MUL_MAT_ID, GGML_OP_ADD_ID}) {
        Bench other;
        ggml_tensor *factor = other.leaf(GGML_TYPE_F32);
        ggml_tensor *scaled = ggml_mul(other.context(), other.leaf(GGML_TYPE_F32), factor);
        other.place(factor, 4);
        expect(has_vulkan_layout(*scaled), "a misaligned factor of a leaf");
        scaled->src[0]->op = before;
        expect(!has_vulkan_layout(*scaled), std::string("of what comes from ") + ggml_op_name(before));
    }
}

void strides_are_whole_elements() {
    Bench bench;
    ggml_tensor *source = bench.leaf(GGML_TYPE_F32);
    ggml_tensor *sum = ggml_add(bench.context(), source, bench.leaf(GGML_TYPE_F32));
    bench.place(nullptr, 0);
    source->nb[1] = 2 * source->nb[1];
    expect(has_vulkan_layout(*sum), "a stride of more rows");
    source->nb[1] += 2;
    expect(!has_vulkan_layout(*sum), "a stride of half an element more is refused");
    source->nb[1] -= 2;
    sum->nb[1] += 2;
    expect(!has_vulkan_layout(*sum), "and in the result");
}

void numbers_of_eight_bytes_are_only_read() {
    Bench bench;
    ggml_backend_dev_t device = ggml_backend_buft_get_device(ggml_backend_cpu_buffer_type());
    ggml_tensor *indices = bench.leaf(GGML_TYPE_I64);
    expect(!has_vulkan_shader(*ggml_cont(bench.context(), indices), device), "nothing copies them");
    ggml_tensor *rows = ggml_new_tensor_3d(bench.context(), GGML_TYPE_F32, 16, 32, 4);
    ggml_tensor *numbered = ggml_set_rows(bench.context(), rows, ggml_dup_tensor(bench.context(), rows), indices);
    expect(has_vulkan_shader(*numbered, device), "rows are set by them");
    bench.place(nullptr, 0);
    indices->nb[1] *= 2;
    expect(has_vulkan_layout(*numbered), "with any stride of whole ones");
}

void convolutions_have_dense_rows() {
    Bench bench;
    ggml_backend_dev_t device = ggml_backend_buft_get_device(ggml_backend_cpu_buffer_type());
    ggml_tensor *image = ggml_new_tensor_4d(bench.context(), GGML_TYPE_F32, 1, 4, 1, 1);
    ggml_tensor *kernel = ggml_new_tensor_4d(bench.context(), GGML_TYPE_F32, 1, 2, 1, 1);
    ggml_tensor *convolved = ggml_conv_2d_direct(bench.context(), kernel, image, 1, 1, 0, 0, 1, 1);
    expect(has_vulkan_shader(*convolved, device), "a row of one element");
    image->nb[0] = 64;
    expect(!has_vulkan_shader(*convolved, device), "whose next one would lie elsewhere");
    image->nb[0] = sizeof(float);
    convolved->nb[0] = 64;
    expect(!has_vulkan_shader(*convolved, device), "and in the result");
}

void channels_are_in_equal_groups() {
    Bench bench;
    ggml_backend_dev_t device = ggml_backend_buft_get_device(ggml_backend_cpu_buffer_type());
    ggml_tensor *image = ggml_new_tensor_4d(bench.context(), GGML_TYPE_F32, 2, 2, 12, 2);
    for (const int32_t count : {1, 3, 12}) expect(has_vulkan_shader(*ggml_group_norm(bench.context(), image, count, 0), device), std::to_string(count) + " groups of 12 channels");
    for (const int32_t count : {5, 7, 8}) expect(!has_vulkan_shader(*ggml_group_norm(bench.context(), image, count, 0), device), std::to_string(count) + " groups of 12 channels are not equal");
}

using Shape = std::array<int64_t, 4>;
constexpr int64_t groups = 65535;

// An op, and shapes of its result and its sources by a number that becomes work groups. `most` is the largest that is computed.
struct Sized {
    ggml_op op;
    int64_t most;
    std::vector<Shape> (*shapes)(int64_t n);
    int parameter = -1; // is the number, too
};

const Sized sized[] = {
    {GGML_OP_RMS_NORM, groups, [](int64_t n) { return std::vector<Shape>{{2, n, 1, 1}, {2, n, 1, 1}}; }},
    {GGML_OP_GROUP_NORM, groups, [](int64_t n) { return std::vector<Shape>{{2, 1, n, 1}, {2, 1, n, 1}}; }, 0},
#if APIR_GGML_GENERATION == 0
    {GGML_OP_DIAG_MASK_INF, groups, [](int64_t n) { return std::vector<Shape>{{2, n, 1, 1}, {2, n, 1, 1}}; }},
    {GGML_OP_DIAG_MASK_INF, groups, [](int64_t n) { return std::vector<Shape>{{2, 1, n, 1}, {2, 1, n, 1}}; }},
    {GGML_OP_DIAG_MASK_INF, groups, [](int64_t n) { return std::vector<Shape>{{2, 1, 1, n}, {2, 1, 1, n}}; }},
#endif
    {GGML_OP_FLASH_ATTN_EXT, 2 * groups, [](int64_t n) { return std::vector<Shape>{{64, 1, n, 1}, {64, n, 1, 1}, {64, 4, 1, 1}, {64, 4, 1, 1}}; }},
    {GGML_OP_FLASH_ATTN_EXT, groups, [](int64_t n) { return std::vector<Shape>{{64, n, 1, 1}, {64, 1, n, 1}, {64, 4, 1, 1}, {64, 4, 1, 1}}; }},
    {GGML_OP_FLASH_ATTN_EXT, groups, [](int64_t n) { return std::vector<Shape>{{64, 1, 1, n}, {64, 1, 1, n}, {64, 4, 1, 1}, {64, 4, 1, 1}}; }},
    {GGML_OP_FLASH_ATTN_EXT, groups,
     [](int64_t n) { return std::vector<Shape>{{64, 1, 1, 1}, {64, 1, 1, 1}, {64, 1024, 1, 1}, {64, 1024, 1, 1}, {1024, n, 1, 1}}; }},
    {GGML_OP_FLASH_ATTN_EXT, groups,
     [](int64_t n) { return std::vector<Shape>{{64, n, 1, 1}, {64, 1, n, 1}, {64, 1024, 1, 1}, {64, 1024, 1, 1}, {1024, 32, n, 1}}; }},
    {GGML_OP_ROPE, 512 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {n, 1, 1, 1}, {1, 1, 1, 1}}; }},
    {GGML_OP_ROPE_BACK, 512 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {n, 1, 1, 1}, {1, 1, 1, 1}}; }},
    {GGML_OP_SOFT_MAX, 512 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_SOFT_MAX, groups, [](int64_t n) { return std::vector<Shape>{{16385, n, 1, 1}, {16385, n, 1, 1}}; }},
    {GGML_OP_CONV_TRANSPOSE_1D, groups, [](int64_t n) { return std::vector<Shape>{{2, n, 1, 1}, {1, n, 1, 1}, {2, 1, 1, 1}}; }},
    {GGML_OP_TIMESTEP_EMBEDDING, groups, [](int64_t n) { return std::vector<Shape>{{4, n, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_SSM_CONV, groups, [](int64_t n) { return std::vector<Shape>{{1, 1, n, 1}, {4, 1, n, 1}, {4, 1, 1, 1}}; }},
    {GGML_OP_SSM_CONV, 16 * groups, [](int64_t n) { return std::vector<Shape>{{1, n, 1, 1}, {3 + n, 1, 1, 1}, {4, 1, 1, 1}}; }},
    {GGML_OP_SSM_CONV, 32 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {4, n, 1, 1}, {4, n, 1, 1}}; }},
    {GGML_OP_ADD_ID, groups, [](int64_t n) { return std::vector<Shape>{{2, n, 1, 1}, {2, n, 1, 1}, {2, 4, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_ADD_ID, groups, [](int64_t n) { return std::vector<Shape>{{2, 2, n, 1}, {2, 2, n, 1}, {2, 4, 1, 1}, {2, n, 1, 1}}; }},
    {GGML_OP_GATED_DELTA_NET, groups,
     [](int64_t n) {
         return std::vector<Shape>{{16, 17 * n, 1, 1}, {16, 1, 1, n}, {16, 1, 1, n}, {16, 1, 1, n}, {1, 1, 1, n}, {1, 1, 1, n}, {16, 16, 1, n}};
     }},
    {GGML_OP_GATED_DELTA_NET, groups,
     [](int64_t n) {
         return std::vector<Shape>{{16 * n, 17, 1, 1}, {16, n, 1, 1}, {16, n, 1, 1}, {16, n, 1, 1}, {1, n, 1, 1}, {1, n, 1, 1}, {16, 16, n, 1}};
     }},
    {GGML_OP_SSM_SCAN, groups,
     [](int64_t n) {
         return std::vector<Shape>{{144 * n, 1, 1, 1}, {128, 16, 1, n}, {16, 1, 1, n}, {1, 1, n, 1}, {1, 1, 1, 1},
                                   {128, 1, 1, n},     {128, 1, 1, n},  {n, 1, 1, 1}};
     }},
    {GGML_OP_RWKV_WKV6, groups,
     [](int64_t n) {
         Shape each{64, n, 1, 1};
         return std::vector<Shape>{{64 * n, 65, 1, 1}, each, each, each, {64, n, 1, 1}, each, {4096 * n, 1, 1, 1}};
     }},
    {GGML_OP_RWKV_WKV7, groups,
     [](int64_t n) {
         Shape each{64, 1, n, 1};
         return std::vector<Shape>{{64, 65 * n, 1, 1}, each, each, each, each, each, each, {4096, n, 1, 1}};
     }},
    {GGML_OP_GATED_LINEAR_ATTN, groups,
     [](int64_t n) {
         Shape each{64, n, 1, 1};
         return std::vector<Shape>{{64 * n, 65, 1, 1}, each, each, each, each, {4096 * n, 1, 1, 1}};
     }},
    {GGML_OP_DSV4_HC_PRE, groups, [](int64_t n) { return std::vector<Shape>{{4, n, 1, 1}, {4, 4, n, 1}, {4, n, 1, 1}}; }},
    {GGML_OP_DSV4_HC_POST, groups, [](int64_t n) { return std::vector<Shape>{{4, 4, n, 1}, {4, n, 1, 1}, {4, 4, n, 1}, {4, n, 1, 1}}; }},
    {GGML_OP_LIGHTNING_INDEXER, groups,
     [](int64_t n) { return std::vector<Shape>{{4, n, 1, 1}, {128, 64, n, 1}, {128, 1, 4, 1}, {64, n, 1, 1}, {4, n, 1, 1}}; }},
    {GGML_OP_IM2COL_3D, groups, [](int64_t n) { return std::vector<Shape>{{1, n, 1, 1}, {1, 1, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_COL2IM_1D, groups, [](int64_t n) { return std::vector<Shape>{{1, n, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_COL2IM_1D, 256 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {1, n, 1, 1}}; }},
    {GGML_OP_CONV_TRANSPOSE_2D, 64 * groups, [](int64_t n) { return std::vector<Shape>{{1, 1, n, 1}, {1, 1, n, 1}, {1, 1, 1, 1}}; }},
    {GGML_OP_CONV_3D, 64 * groups, [](int64_t n) { return std::vector<Shape>{{1, 1, 1, n}, {1, 1, 1, n}, {1, 1, 1, 1}}; }, 11},
    {GGML_OP_ARGSORT, 1 << 23, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_TOP_K, 1 << 23, [](int64_t n) { return std::vector<Shape>{{1, 1, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_GET_ROWS, 512 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {n, 1, 1, 1}, {1, 1, 1, 1}}; }},
    {GGML_OP_POOL_1D, 512 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_ARANGE, 512 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}}; }},
    {GGML_OP_SET, 512 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {n, 1, 1, 1}, {1, 1, 1, 1}}; }},
    {GGML_OP_COUNT_EQUAL, 512 * groups, [](int64_t n) { return std::vector<Shape>{{1, 1, 1, 1}, {n, 1, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_MUL_MAT, 64 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {1, n, 1, 1}, {1, 1, 1, 1}}; }},
    {GGML_OP_MUL_MAT, 64 * groups, [](int64_t n) { return std::vector<Shape>{{1, n, 1, 1}, {1, 1, 1, 1}, {1, n, 1, 1}}; }},
    {GGML_OP_MUL_MAT, 32 * groups, [](int64_t n) { return std::vector<Shape>{{n, 9, 1, 1}, {1, n, 1, 1}, {1, 9, 1, 1}}; }},
    {GGML_OP_MUL_MAT_ID, 32 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 9, 1}, {1, n, 2, 1}, {1, 1, 9, 1}, {1, 9, 1, 1}}; }},
    {GGML_OP_MUL_MAT_ID, groups, [](int64_t n) { return std::vector<Shape>{{2, n, 1, 1}, {1, 2, 2, 1}, {1, n, 1, 1}, {n, 1, 1, 1}}; }},
    {GGML_OP_MUL_MAT_ID, 64 * groups, [](int64_t n) { return std::vector<Shape>{{n, 1, 1, 1}, {1, n, 2, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}}; }},
};

ggml_tensor *node_of(const Bench &bench, const Sized &each, int64_t n) {
    std::vector<Shape> shapes = each.shapes(n);
    auto tensor = [&](const Shape &ne) { return ggml_new_tensor(bench.context(), GGML_TYPE_F32, GGML_MAX_DIMS, ne.data()); };
    ggml_tensor *node = tensor(shapes[0]);
    node->op = each.op;
    if (each.parameter >= 0) node->op_params[each.parameter] = static_cast<int32_t>(n);
    std::transform(shapes.begin() + 1, shapes.end(), node->src, tensor);
    return node;
}

// As many work groups as Vulkan guarantees along an axis.
void sizes_fit_work_groups() {
    ggml_backend_dev_t device = ggml_backend_buft_get_device(ggml_backend_cpu_buffer_type());
    for (size_t i = 0; i < std::size(sized); ++i) {
        Bench bench;
        std::string name = std::string(ggml_op_name(sized[i].op)) + " (row " + std::to_string(i) + ") of ";
        expect(has_vulkan_shader(*node_of(bench, sized[i], sized[i].most), device), name + std::to_string(sized[i].most));
        expect(!has_vulkan_shader(*node_of(bench, sized[i], sized[i].most + 1), device), name + "one more is refused");
    }
    // These spread many over several axes.
    for (ggml_op op : {GGML_OP_NORM, GGML_OP_L2_NORM, GGML_OP_SOFT_MAX, GGML_OP_ROPE, GGML_OP_SUM_ROWS, GGML_OP_SCALE, GGML_OP_CONT}) {
        Bench bench;
        Sized many{op, 0, [](int64_t n) { return std::vector<Shape>{{2, n, 1, 1}, {2, n, 1, 1}, {1, 1, 1, 1}}; }};
        expect(has_vulkan_shader(*node_of(bench, many, 1 << 20), device), std::string(ggml_op_name(op)) + " of many rows");
    }
    // A mask of few columns is not looked through, and of many queries several rows are at a time.
    for (Shape mask : {Shape{256, 1 << 20, 1, 1}, Shape{1024, 2 * groups, 1, 1}}) {
        Bench bench;
        ggml_tensor *node = node_of(bench, {GGML_OP_FLASH_ATTN_EXT, 0, [](int64_t n) { return std::vector<Shape>{{64, 1, n, 1}, {64, n, 1, 1}}; }}, 4);
        node->src[3] = ggml_new_tensor(bench.context(), GGML_TYPE_F16, GGML_MAX_DIMS, mask.data());
        expect(has_vulkan_shader(*node, device), "attention with a mask of " + std::to_string(mask[1]) + " rows");
    }
    // And these dispatch their columns, tokens or experts one part after the other: 2,105,344 columns, and 66,000 experts, did not abort.
    const Sized products[] = {
        {GGML_OP_MUL_MAT, 32 * groups, [](int64_t n) { return std::vector<Shape>{{2, n, 1, 1}, {1, 2, 1, 1}, {1, n, 1, 1}}; }},
        {GGML_OP_MUL_MAT_ID, 32 * groups, [](int64_t n) { return std::vector<Shape>{{2, 1, n, 1}, {1, 2, 2, 1}, {1, 1, n, 1}, {1, n, 1, 1}}; }},
        {GGML_OP_MUL_MAT_ID, groups, [](int64_t n) { return std::vector<Shape>{{2, 1, 9, 1}, {1, 2, n, 1}, {1, 1, 9, 1}, {1, 9, 1, 1}}; }},
    };
    for (const Sized &each : products) {
        Bench bench;
        expect(has_vulkan_shader(*node_of(bench, each, each.most + 1), device), std::string(ggml_op_name(each.op)) + " in parts");
    }
    Bench bench;
    Sized planes{GGML_OP_RMS_NORM, 0, [](int64_t n) { return std::vector<Shape>{{2, 1, n, n}, {2, 1, n, n}}; }};
    expect(has_vulkan_shader(*node_of(bench, planes, groups + 1), device), "RMS_NORM of many planes and volumes");

    // A mask of many planes has a work group for each.
    for (int64_t planes : {groups, groups + 1}) {
        Bench other;
        ggml_tensor *node = node_of(other, {GGML_OP_FLASH_ATTN_EXT, 0, [](int64_t n) { return std::vector<Shape>{{64, 1, n, 1}, {64, n, 1, 1}}; }}, 4);
        node->src[3] = ggml_new_tensor_4d(other.context(), GGML_TYPE_F16, 1024, 4, planes / 5, planes % 5 == 0 ? 5 : 6);
        expect(has_vulkan_shader(*node, device) == (planes == groups), "attention with a mask of some " + std::to_string(planes) + " planes");
    }
}

const char *description = "a GPU";

// Drivers that take more along the first axis than Vulkan guarantees.
void many_groups_by_driver() {
    ggml_backend_device device{};
    device.iface.get_description = [](ggml_backend_dev_t) { return description; };
    constexpr int64_t most = INT_MAX;
    for (const char *driver : {"NVIDIA H200", "AMD Radeon RX 9070 XT (RADV GFX1201)", "Intel(R) Arc(tm) A770 Graphics (DG2)"}) {
        description = driver;
        Bench bench;
        const Sized rows{GGML_OP_RMS_NORM, most, [](int64_t n) { return std::vector<Shape>{{2, n, 1, 1}, {2, n, 1, 1}}; }};
        const bool takes_many = driver[0] != 'I';
        expect(has_vulkan_shader(*node_of(bench, rows, groups), &device), std::string(driver) + ": what Vulkan guarantees");
        expect(has_vulkan_shader(*node_of(bench, rows, most), &device) == takes_many, std::string(driver) + ": many");
        expect(!has_vulkan_shader(*node_of(bench, rows, most + 1), &device), std::string(driver) + ": more than a number has");
    }
    description = "a GPU";
}

// A device that computes nothing of tensors above a size, as ggml-vulkan does.
size_t largest_tensor = size_t{1} << 28;
ggml_backend_device *device_of_bindings() {
    static ggml_backend_device device{};
    device.iface.get_description = [](ggml_backend_dev_t) { return description; };
    device.iface.supports_op = [](ggml_backend_dev_t, const ggml_tensor *op) { return ggml_nbytes(op) <= largest_tensor; };
    return &device;
}

// With the strides of rows and planes of one of the sources, unless they are packed.
bool multiplies(ggml_op op, ggml_type type, const Shape &matrix, const Shape &columns, int apart = -1, size_t row = 0, size_t plane = 0) {
    Bench bench;
    ggml_tensor *a = ggml_new_tensor(bench.context(), type, GGML_MAX_DIMS, matrix.data());
    ggml_tensor *b = ggml_new_tensor(bench.context(), GGML_TYPE_F32, GGML_MAX_DIMS, columns.data());
    ggml_tensor *ids = ggml_new_tensor_2d(bench.context(), GGML_TYPE_I32, columns[1], columns[2]);
    ggml_tensor *node = op == GGML_OP_MUL_MAT ? ggml_mul_mat(bench.context(), a, b) : ggml_mul_mat_id(bench.context(), a, b, ids);
    if (apart >= 0) node->src[apart]->nb[1] = row, node->src[apart]->nb[2] = plane;
    return has_vulkan_shader(*node, device_of_bindings());
}

// Sources that are not packed are copied, whole: a matrix whose rows are one row takes as much as if each were its own.
void copies_of_a_product_fit_a_binding() {
    constexpr size_t row = size_t{4096} * 4;
    const int64_t rows = static_cast<int64_t>(largest_tensor / row);
    for (int64_t count : {1, 16}) {
        expect(multiplies(GGML_OP_MUL_MAT, GGML_TYPE_F32, {4096, rows, 1, 1}, {4096, count, 1, 1}, 0, 0, 0), "a row again and again");
        expect(!multiplies(GGML_OP_MUL_MAT, GGML_TYPE_F32, {4096, rows + 1, 1, 1}, {4096, count, 1, 1}, 0, 0, 0), "once too often");
        expect(multiplies(GGML_OP_MUL_MAT_ID, GGML_TYPE_F32, {4096, rows / 2, 2, 1}, {4096, 1, count, 1}, 0, 0, 0), "a row of experts");
        expect(!multiplies(GGML_OP_MUL_MAT_ID, GGML_TYPE_F32, {4096, rows / 2 + 1, 2, 1}, {4096, 1, count, 1}, 0, 0, 0), "once too often");
    }
    expect(multiplies(GGML_OP_MUL_MAT, GGML_TYPE_F32, {4096, rows + 1, 1, 1}, {4096, 16, 1, 1}), "a packed matrix is taken as it is");
    expect(!multiplies(GGML_OP_MUL_MAT, GGML_TYPE_F32, {4096, 16, 1, 1}, {4096, rows + 1, 1, 1}, 1, 0, 0), "columns that are one");
    expect(!multiplies(GGML_OP_MUL_MAT_ID, GGML_TYPE_F32, {4096, 16, 2, 1}, {4096, 1, rows + 1, 1}, 1, 0, 0), "tokens that are one");
    // Nine columns are a tile, and numbers of half precision.
    const int64_t planes = static_cast<int64_t>(largest_tensor / (size_t{2} * 64 * 128));
    expect(multiplies(GGML_OP_MUL_MAT, GGML_TYPE_BF16, {128, 16, 1, 1}, {128, 9, planes, 1}), "brain floats by few columns of many planes");
    expect(!multiplies(GGML_OP_MUL_MAT, GGML_TYPE_BF16, {128, 16, 1, 1}, {128, 9, planes + 1, 1}), "of too many");
    expect(multiplies(GGML_OP_MUL_MAT, GGML_TYPE_F16, {128, 16, 1, 1}, {128, 9, planes + 1, 1}), "half precision has a shader for them");
    expect(multiplies(GGML_OP_MUL_MAT, GGML_TYPE_BF16, {128, 16, 1, 1}, {128, 1, planes + 1, 1}), "and so have single columns");
    expect(!multiplies(GGML_OP_MUL_MAT, GGML_TYPE_F16, {128, 16, 1, 1}, {128, 9, planes + 1, 1}, 1, 1024, 16384), "columns that lie apart are packed, too");
    // Above 256 columns the last tile of as many is filled up: 257 take what 512 do.
    expect(multiplies(GGML_OP_MUL_MAT, GGML_TYPE_BF16, {128, 16, 1, 1}, {128, 257, planes / 8, 1}), "257 columns");
    expect(!multiplies(GGML_OP_MUL_MAT, GGML_TYPE_BF16, {128, 16, 1, 1}, {128, 257, planes / 8 + 1, 1}), "of one plane too many");
    description = "NVIDIA H200";
    expect(!multiplies(GGML_OP_MUL_MAT, GGML_TYPE_F16, {128, 16, 1, 1}, {128, 9, planes + 1, 1}), "half precision as well, for its matrix units");
    description = "a GPU";
    // Whatever the device says.
    const size_t before = std::exchange(largest_tensor, SIZE_MAX);
    constexpr int64_t most = (int64_t{1} << 32) / (4096 * 4);
    expect(multiplies(GGML_OP_MUL_MAT, GGML_TYPE_F32, {4096, most - 1, 1, 1}, {4096, 1, 1, 1}, 0, 0, 0), "less than 4 GiB");
    expect(!multiplies(GGML_OP_MUL_MAT, GGML_TYPE_F32, {4096, most, 1, 1}, {4096, 1, 1, 1}, 0, 0, 0), "4 GiB");
    largest_tensor = before;
}

// Mesa's driver for a GPU of software dies while it compiles the shader that makes numbers of such weights, which packed columns need not.
void k_quants_by_columns_that_lie_apart() {
    for (ggml_type type : {GGML_TYPE_Q2_K, GGML_TYPE_Q4_K, GGML_TYPE_Q6_K, GGML_TYPE_Q8_0, GGML_TYPE_IQ4_XS})
        for (const char *driver : {"llvmpipe (LLVM 19.1.7, 256 bits)", "a GPU"}) {
            description = driver;
            const bool takes = driver[0] == 'a' || type == GGML_TYPE_Q8_0 || type == GGML_TYPE_IQ4_XS;
            for (ggml_op op : {GGML_OP_MUL_MAT, GGML_OP_MUL_MAT_ID}) {
                const std::string name = std::string(ggml_type_name(type)) + " on " + driver;
                expect(multiplies(op, type, {256, 16, 1, 1}, {256, 2, 1, 1}), name + ", packed");
                expect(multiplies(op, type, {256, 16, 1, 1}, {256, 2, 1, 1}, 1, 2048, 4096) == takes, name + ", apart");
            }
            // Planes and rows are packed, volumes are not.
            Bench bench;
            ggml_tensor *columns = ggml_new_tensor_4d(bench.context(), GGML_TYPE_F32, 256, 2, 2, 2);
            const ggml_tensor *node = ggml_mul_mat(bench.context(), ggml_new_tensor_2d(bench.context(), type, 256, 16), columns);
            columns->nb[3] *= 2;
            expect(has_vulkan_shader(*node, device_of_bindings()) == takes, std::string(ggml_type_name(type)) + " by volumes that lie apart");
        }
    description = "a GPU";
}

// By upstream's source: no device at hand has such matrices.
void matrix_larger_than_a_binding_divides_into_rows() {
    constexpr size_t gib = size_t{1} << 30;
    auto takes = [](const Shape &matrix, size_t row, size_t plane) {
        Bench bench;
        ggml_tensor *a = ggml_new_tensor(bench.context(), GGML_TYPE_F16, GGML_MAX_DIMS, matrix.data());
        ggml_tensor *b = ggml_new_tensor_3d(bench.context(), GGML_TYPE_F32, matrix[0], 1, matrix[2]);
        const ggml_tensor *node = ggml_mul_mat(bench.context(), a, b);
        a->nb[1] = row, a->nb[2] = plane;
        return has_vulkan_shader(*node, ggml_backend_buft_get_device(ggml_backend_cpu_buffer_type()));
    };
    expect(takes({4096, 1 << 20, 1, 1}, 8192, 8 * gib), "a matrix of 8 GiB, of short rows");
    expect(takes({gib - 1, 3, 1, 1}, 2 * gib - 2, 6 * gib), "long ones, of which two fit a binding");
    expect(!takes({4096, 3, 1, 1}, 2 * gib, 6 * gib), "a stride of which they do not");
    expect(takes({4096, 2, 1, 1}, 2 * gib, 4 * gib), "in a matrix that is smaller");
    expect(!takes({4096, 2, 2, 1}, 0, 4 * gib), "rows without a stride");
}

} // namespace

int main() {
    aligned_is_taken();
    misaligned_is_refused_where_it_is_asserted();
    misaligned_is_taken_by_whole_elements();
    addend_of_a_product_is_aligned();
    strides_are_whole_elements();
    numbers_of_eight_bytes_are_only_read();
    convolutions_have_dense_rows();
    channels_are_in_equal_groups();
    sizes_fit_work_groups();
    many_groups_by_driver();
    copies_of_a_product_fit_a_binding();
    k_quants_by_columns_that_lie_apart();
    matrix_larger_than_a_binding_divides_into_rows();
    return apir::test::failures == 0 ? 0 : 1;
}
