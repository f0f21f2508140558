#include "vulkan_layout.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace apir::host {
namespace {

// Ops whose shaders are told how far behind an aligned address a tensor begins. All others assert it, or bind the address as it is,
// which a driver need not take (multiplications of large matrices). Found with ggml 0.27 by moving each operand of four cases of every
// op by one element, among all that ggml-vulkan computes.
bool steps_over_misalignment(ggml_op op) {
    switch (op) {
    case GGML_OP_ACC:
    case GGML_OP_ADD:
    case GGML_OP_CLAMP:
    case GGML_OP_CONCAT:
    case GGML_OP_CONT:
    case GGML_OP_CONV_2D:
    case GGML_OP_CONV_3D:
    case GGML_OP_CONV_TRANSPOSE_2D:
    case GGML_OP_COS:
    case GGML_OP_CPY:
    case GGML_OP_CUMSUM:
    case GGML_OP_DIAG:
    case GGML_OP_DIV:
    case GGML_OP_DUP:
    case GGML_OP_GET_ROWS:
    case GGML_OP_GET_ROWS_BACK:
    case GGML_OP_GLU:
    case GGML_OP_IM2COL_3D:
    case GGML_OP_L2_NORM:
    case GGML_OP_LEAKY_RELU:
    case GGML_OP_LOG:
    case GGML_OP_MEAN:
    case GGML_OP_MUL:
    case GGML_OP_NORM:
    case GGML_OP_PAD:
    case GGML_OP_PAD_REFLECT_1D:
    case GGML_OP_REPEAT:
    case GGML_OP_REPEAT_BACK:
    case GGML_OP_RMS_NORM:
    case GGML_OP_ROLL:
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK:
    case GGML_OP_SCALE:
    case GGML_OP_SET:
    case GGML_OP_SET_ROWS:
    case GGML_OP_SIN:
    case GGML_OP_SOLVE_TRI:
    case GGML_OP_SQR:
    case GGML_OP_SQRT:
    case GGML_OP_SUB:
    case GGML_OP_SUM:
    case GGML_OP_SUM_ROWS:
    case GGML_OP_TRI:
    case GGML_OP_UNARY:
    case GGML_OP_UPSCALE: return true;
    default: return false;
    }
}

// Sums and scales behind a product are computed in its shader, and sums of sums in one of their own: those bind their operands as they are.
bool may_be_fused(const ggml_tensor &node) {
    for (const ggml_tensor *source : node.src) {
        if (source == nullptr) continue;
        if (source->op == GGML_OP_MUL_MAT || source->op == GGML_OP_MUL_MAT_ID) return true;
        if (source->op == GGML_OP_ADD || source->op == GGML_OP_ADD_ID) return true;
    }
    return false;
}

// Where a tensor begins, in its buffer or in what it is a view of, and where buffers may be bound.
struct Place {
    size_t offset;
    size_t alignment;
};

Place place_of(const ggml_tensor &tensor) {
    const auto *base = static_cast<const uint8_t *>(ggml_backend_buffer_get_base(tensor.buffer));
    return {static_cast<size_t>(static_cast<const uint8_t *>(tensor.data) - base), ggml_backend_buffer_get_alignment(tensor.buffer)};
}

// The shaders step over whole elements or blocks from an aligned address on. The nearest such address need not be a whole number of
// them behind; ggml-vulkan goes back from one to the next, and asserts that it comes to one before the buffer begins.
bool lies_whole_elements_behind_alignment(const Place &place, size_t size) {
    size_t behind = place.offset % place.alignment;
    // As many steps as there are remainders.
    for (size_t steps = 0; behind % size != 0; ++steps, behind += place.alignment)
        if (steps == size || behind + place.alignment > place.offset) return false;
    return true;
}

bool is_bindable(const ggml_tensor &tensor, const Place &place, bool misaligned_too) {
    if (misaligned_too) return lies_whole_elements_behind_alignment(place, ggml_type_size(tensor.type));
    return place.offset % place.alignment == 0;
}

bool counts_in_elements(const ggml_tensor &tensor) {
    for (size_t stride : tensor.nb)
        if (stride % ggml_type_size(tensor.type) != 0) return false;
    return true;
}

// Convolutions assert that a row's elements lie side by side, of a row of one as well.
bool needs_dense_rows(ggml_op op) {
    switch (op) {
    case GGML_OP_CONV_2D:
    case GGML_OP_CONV_3D:
    case GGML_OP_CONV_TRANSPOSE_1D:
    case GGML_OP_CONV_TRANSPOSE_2D:
    case GGML_OP_IM2COL:
    case GGML_OP_IM2COL_3D:
    case GGML_OP_SSM_CONV: return true;
    default: return false;
    }
}

bool has_dense_rows(const ggml_tensor &node) {
    for (const ggml_tensor *source : node.src)
        if (source != nullptr && source->nb[0] != ggml_type_size(source->type)) return false;
    return node.nb[0] == ggml_type_size(node.type);
}

bool fits(const ggml_tensor &tensor, const Place &place, bool misaligned_too) {
    return is_bindable(tensor, place, misaligned_too) && counts_in_elements(tensor);
}

template <typename PlaceOf> bool all_fit(const ggml_tensor &node, PlaceOf place) {
    const bool misaligned_too = steps_over_misalignment(node.op) && !may_be_fused(node);
    for (const ggml_tensor *source : node.src)
        if (source != nullptr && !fits(*source, place(*source), misaligned_too)) return false;
    return fits(node, place(node), misaligned_too);
}

// What ggml-vulkan calls contiguous enough for a matrix, batch by batch.
bool has_packed_rows(const ggml_tensor &tensor) {
    return tensor.nb[0] == ggml_type_size(tensor.type) && tensor.nb[1] == ggml_row_size(tensor.type, tensor.ne[0]) &&
           (tensor.ne[3] == 1 || tensor.nb[3] == tensor.nb[2] * static_cast<size_t>(tensor.ne[2]));
}

bool is_k_quant(ggml_type type) { return type >= GGML_TYPE_Q2_K && type <= GGML_TYPE_Q6_K; }

// Then the weights are made numbers by a shader of its own.
bool dequantizes_k_quants(const ggml_tensor &node) {
    const bool product = node.op == GGML_OP_MUL_MAT || node.op == GGML_OP_MUL_MAT_ID;
    return product && is_k_quant(node.src[0]->type) && !has_packed_rows(*node.src[1]);
}

double ne(const ggml_tensor &tensor, int axis) { return static_cast<double>(tensor.ne[axis]); }
double rows(const ggml_tensor &tensor) { return ne(tensor, 1) * ne(tensor, 2) * ne(tensor, 3); }
double elements(const ggml_tensor &tensor) { return ne(tensor, 0) * rows(tensor); }

// Up to eight columns, or tokens of experts, are multiplied row by row, 64 rows at a time, and a single row as the one column of the transposed
// product; more of them in tiles, of which the smallest have 32 rows. Of many columns, or experts, there are several dispatches.
constexpr double most_columns = 8;
constexpr double tile = 32;
bool is_tiled(const ggml_tensor &node) { return node.op == GGML_OP_MUL_MAT_ID ? ne(node, 2) > most_columns : ne(node, 1) > most_columns && ne(node, 0) > 1; }
double groups_of_product(const ggml_tensor &node) {
    if (is_tiled(node)) return ne(node, 0) / tile;
    return (node.op == GGML_OP_MUL_MAT_ID ? ne(node, 0) : std::max(ne(node, 0), ne(node, 1))) / 64;
}

// Work groups of a node's dispatch, of ops that do not spread theirs over several axes when they are many: what along each axis is
// counted, and by how many one group does. Found with ggml 0.27 by the largest size of each that is computed.
double groups_along_x(const ggml_tensor &node) {
    const ggml_tensor &a = node.op == GGML_OP_ARANGE ? node : *node.src[0];
    switch (node.op) {
    case GGML_OP_ADD_ID:
    case GGML_OP_CONV_TRANSPOSE_1D:
    case GGML_OP_RMS_NORM: return ne(a, 1);
    case GGML_OP_GROUP_NORM: return node.op_params[0] * ne(a, 3);
#if APIR_GGML_GENERATION == 0
    case GGML_OP_DIAG_MASK_INF: return rows(a);
#endif
    case GGML_OP_FLASH_ATTN_EXT: return ne(a, 1) / 2;
    case GGML_OP_GATED_DELTA_NET: return ne(*node.src[2], 1);
    case GGML_OP_GATED_LINEAR_ATTN: return ne(a, 1) * ne(*node.src[4], 1);
    case GGML_OP_RWKV_WKV6: return ne(a, 1) * ne(*node.src[5], 1);
    case GGML_OP_RWKV_WKV7: return ne(a, 1) * ne(*node.src[6], 1);
    case GGML_OP_SSM_SCAN: return ne(a, 1) * ne(a, 2);
    case GGML_OP_SSM_CONV: return ne(a, 1) / 32;
    case GGML_OP_CONV_2D:
    case GGML_OP_CONV_TRANSPOSE_2D: return ne(node, 2) / 64;
    case GGML_OP_CONV_3D: return node.op_params[11] / 64.0;
    case GGML_OP_MUL_MAT:
    case GGML_OP_MUL_MAT_ID: return groups_of_product(node);
    case GGML_OP_DSV4_HC_PRE:
    case GGML_OP_DSV4_HC_POST: return ne(node, 0) / 128;
    case GGML_OP_COL2IM_1D: return ne(node, 0) / 256;
    case GGML_OP_ARGSORT:
    case GGML_OP_TOP_K: return std::exp2(std::ceil(std::log2(ne(a, 0)))) / 256;
    case GGML_OP_GET_ROWS:
    case GGML_OP_IM2COL:
    case GGML_OP_IM2COL_3D:
    case GGML_OP_SOFT_MAX:
    case GGML_OP_TIMESTEP_EMBEDDING: return ne(node, 0) / 512;
    case GGML_OP_ARANGE:
    case GGML_OP_POOL_1D: return elements(node) / 512;
    case GGML_OP_ACC:
    case GGML_OP_COUNT_EQUAL:
    case GGML_OP_OPT_STEP_ADAMW:
    case GGML_OP_OPT_STEP_SGD:
    case GGML_OP_SET:
    case GGML_OP_SILU_BACK: return elements(a) / 512;
    default: return 1;
    }
}

// Before the attention itself the tiles of a wide mask are looked through: all of its rows, as many at a time as there are queries in a tile.
double groups_of_mask(const ggml_tensor &queries, const ggml_tensor *mask) {
    constexpr double least_columns = 512;
    if (mask == nullptr || ne(*mask, 0) < least_columns) return 1;
    return std::max(ne(*mask, 1) / (ne(queries, 1) < 4 ? 1 : 2), ne(*mask, 2) * ne(*mask, 3));
}

// Longer rows than this are gone through in parts, each row on its own.
constexpr double longest_whole_row = 16384;

// The most along one of the other axes.
double groups_along_y_or_z(const ggml_tensor &node) {
    const ggml_tensor *a = node.src[0];
    switch (node.op) {
    case GGML_OP_ADD_ID: return ne(*a, 2);
    case GGML_OP_FLASH_ATTN_EXT: return std::max({ne(*a, 2), ne(*a, 3), groups_of_mask(*a, node.src[3])});
    case GGML_OP_MUL_MAT_ID: return is_tiled(node) ? 1 : ne(node, 1);
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK: return ne(*a, 0) / 512;
    case GGML_OP_SOFT_MAX: return ne(*a, 0) > longest_whole_row ? rows(*a) : 1;
    case GGML_OP_TIMESTEP_EMBEDDING: return ne(*a, 0);
#if APIR_GGML_GENERATION == 0
    case GGML_OP_DIAG_MASK_INF: return ne(*a, 0) / 512;
#endif
    case GGML_OP_COL2IM_1D:
    case GGML_OP_IM2COL_3D: return ne(node, 1);
    case GGML_OP_GATED_DELTA_NET: return ne(*node.src[2], 3);
    case GGML_OP_SSM_SCAN: return ne(*node.src[1], 3);
    case GGML_OP_SSM_CONV: return std::max(ne(node, 1) / 16, ne(node, 2));
    case GGML_OP_DSV4_HC_COMB:
    case GGML_OP_DSV4_HC_PRE:
    case GGML_OP_DSV4_HC_POST:
    case GGML_OP_LIGHTNING_INDEXER: return std::max({ne(node, 1), ne(node, 2), ne(node, 3)});
    default: return 1;
    }
}

bool is_described_as(ggml_backend_dev_t device, const char *words) {
    return device != nullptr && std::strstr(ggml_backend_dev_description(device), words) != nullptr;
}

// Along the first axis, where image models have more rows than Vulkan guarantees: NVIDIA's drivers, and Mesa's for AMD.
bool takes_long_x(ggml_backend_dev_t device) { return is_described_as(device, "NVIDIA") || is_described_as(device, "RADV"); }

// What Vulkan guarantees, or those drivers take: ggml does not tell what a device does.
bool fits_work_groups(const ggml_tensor &node, ggml_backend_dev_t device) {
    constexpr double guaranteed = 65535;
    if (groups_along_y_or_z(node) > guaranteed) return false;
    const double along_x = groups_along_x(node);
    return along_x <= guaranteed || (along_x <= INT_MAX && takes_long_x(device));
}

// The tiles of a product have up to 256 columns, and the last one is filled up.
double padded_columns(double columns) {
    constexpr double largest = 256;
    for (double tile_columns = 64; tile_columns < largest; tile_columns *= 2)
        if (columns <= tile_columns) return tile_columns;
    return std::ceil(columns / largest) * largest;
}

// What a product's sources are copied into: packed, where they are not, whatever their strides are, so that one whose rows lie in one another
// becomes much larger; and in tiles as columns of half precision.
double scratch_bytes(const ggml_tensor &node, ggml_backend_dev_t device) {
    const ggml_tensor &matrix = *node.src[0], &columns = *node.src[1];
    double most = 0;
    for (const ggml_tensor *source : {&matrix, &columns})
        if (!has_packed_rows(*source)) most = std::max(most, elements(*source) * static_cast<double>(ggml_type_size(source->type)));
    const bool is_made_half = columns.type == GGML_TYPE_F32 && (matrix.type == GGML_TYPE_BF16 || is_described_as(device, "NVIDIA"));
    if (node.op == GGML_OP_MUL_MAT && ne(columns, 1) > 1 && (is_made_half || !has_packed_rows(columns)))
        most = std::max(most, 2 * ne(columns, 0) * padded_columns(ne(columns, 1)) * ne(columns, 2) * ne(columns, 3));
    return most;
}

// ggml tells of the device's largest binding only that it computes nothing of a tensor that is larger.
bool takes_tensor_of(double bytes, ggml_backend_dev_t device) {
    ggml_tensor numbers{};
    numbers.type = GGML_TYPE_F32;
    numbers.ne[0] = static_cast<int64_t>(std::ceil(bytes / sizeof(float)));
    numbers.ne[1] = numbers.ne[2] = numbers.ne[3] = 1;
    numbers.nb[0] = sizeof(float);
    numbers.nb[1] = numbers.nb[2] = numbers.nb[3] = static_cast<size_t>(numbers.ne[0]) * sizeof(float);
    ggml_tensor scaled = numbers;
    scaled.op = GGML_OP_SCALE;
    scaled.src[0] = &numbers;
    return ggml_backend_dev_supports_op(device, &scaled);
}

// It aborts where that is more than a binding may have: Vulkan guarantees 128 MiB, and has no number for more than 4 GiB.
bool fits_scratch(const ggml_tensor &node, ggml_backend_dev_t device) {
    constexpr double guaranteed = 1 << 27;
    if (node.op != GGML_OP_MUL_MAT && node.op != GGML_OP_MUL_MAT_ID) return true;
    const double bytes = scratch_bytes(node, device);
    return bytes <= guaranteed || (bytes <= UINT32_MAX && takes_tensor_of(bytes, device));
}

// A matrix larger than any binding is multiplied as many rows at a time as fit one: a power of two, which is sought without end where two rows
// do not fit, and divided by the rows' stride. ggml 0.27 gives such a matrix to devices that address by 64 bits.
bool divides_into_bindings(const ggml_tensor &node) {
    if (node.op != GGML_OP_MUL_MAT || ggml_nbytes(node.src[0]) <= UINT32_MAX) return true;
    return node.src[0]->nb[1] > 0 && node.src[0]->nb[1] <= INT32_MAX;
}

// Groups of channels are all taken for as large as the largest one: where they are not, results are wrong, and behind the last one it goes on
// past the tensor's end, where drivers may stop it (Mesa's for software does) or not.
bool has_equal_groups(const ggml_tensor &node) { return node.op != GGML_OP_GROUP_NORM || node.src[0]->ne[2] % node.op_params[0] == 0; }

} // namespace

bool has_vulkan_kernels(ggml_backend_dev_t device) {
    return std::strcmp(ggml_backend_reg_name(ggml_backend_dev_backend_reg(device)), "Vulkan") == 0;
}

bool has_vulkan_shader(const ggml_tensor &node, ggml_backend_dev_t device) {
    // Numbers of eight bytes are said to be copied, and asserted not to be.
    const bool copies = node.op == GGML_OP_CPY || node.op == GGML_OP_CONT || node.op == GGML_OP_DUP;
    if (copies && ggml_type_size(node.type) == 8 && !ggml_is_quantized(node.type)) return false;
    if (needs_dense_rows(node.op) && !has_dense_rows(node)) return false;
    if (!has_equal_groups(node)) return false;
    if (!fits_work_groups(node, device) || !fits_scratch(node, device) || !divides_into_bindings(node)) return false;
    // Mesa's driver for a GPU of software dies while it compiles that shader (Mesa 25).
    return !dequantizes_k_quants(node) || !is_described_as(device, "llvmpipe");
}

bool has_vulkan_layout(const ggml_tensor &node) { return all_fit(node, place_of); }

bool will_have_vulkan_layout(const ggml_tensor &node, ggml_backend_dev_t device) {
    const size_t alignment = ggml_backend_buft_get_alignment(ggml_backend_dev_buffer_type(device));
    return all_fit(node, [alignment](const ggml_tensor &tensor) { return Place{tensor.view_offs, alignment}; });
}

} // namespace apir::host
