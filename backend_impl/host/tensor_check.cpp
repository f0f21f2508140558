#include "tensor_check.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "refusal.hpp"

namespace apir::host {
namespace {

using Wide = unsigned __int128;

struct Block {
    uint64_t elements;
    uint64_t bytes;
};

Block block_of(uint32_t type) {
    if (type >= GGML_TYPE_COUNT) refuse("type %" PRIu32 " is not one of ggml's %d", type, static_cast<int>(GGML_TYPE_COUNT));
    int64_t elements = ggml_blck_size(static_cast<ggml_type>(type));
    size_t bytes = ggml_type_size(static_cast<ggml_type>(type));
    // Numbers of types that were taken out of ggml have no size.
    if (elements <= 0 || bytes == 0) refuse("type %" PRIu32 " is no longer one of ggml's", type);
    return {static_cast<uint64_t>(elements), bytes};
}

void set_shape(ggml_tensor &tensor, uint32_t type, const int64_t ne[4], const uint64_t nb[4]) {
    Block block = block_of(type);
    Wide elements = 1;
    for (int i = 0; i < GGML_MAX_DIMS; ++i) {
        if (ne[i] < 0 || ne[i] > max_dimension) refuse("dimension %d is %" PRId64, i, ne[i]);
        if (nb[i] > max_extent) refuse("stride %d is %" PRIu64, i, nb[i]);
        elements *= static_cast<uint64_t>(ne[i]);
        if (elements > max_extent) refuse("a tensor of more than 2^48 elements");
        tensor.ne[i] = ne[i];
        tensor.nb[i] = nb[i];
    }
    if (static_cast<Wide>(ne[1]) * static_cast<uint64_t>(ne[2]) * static_cast<uint64_t>(ne[3]) > max_dimension) refuse("a tensor of more than 2^31 rows");
    if (static_cast<uint64_t>(ne[0]) % block.elements != 0)
        refuse("rows of %" PRId64 " elements in blocks of %" PRIu64, ne[0], block.elements);
    tensor.type = static_cast<ggml_type>(type);
}

// Names get into messages, ours and ggml's: none ends a line or steers a terminal, as characters of C1 do too (0x80 to 0x9f, alone or
// as UTF-8 has them).
void make_printable(char *text) {
    for (; *text != '\0'; ++text)
        if (*text < ' ' || *text > '~') *text = '?';
}

void set_op(ggml_tensor &tensor, uint32_t op, const int32_t (&parameters)[16], int32_t flags, const char (&name)[64]) {
    if (op >= GGML_OP_COUNT) refuse("op %" PRIu32 " is not one of ggml's %d", op, static_cast<int>(GGML_OP_COUNT));
    tensor.op = static_cast<ggml_op>(op);
    static_assert(sizeof tensor.op_params == sizeof parameters && sizeof tensor.name == sizeof name);
    std::memcpy(tensor.op_params, parameters, sizeof parameters);
    tensor.flags = flags;
    std::memcpy(tensor.name, name, sizeof name);
    tensor.name[sizeof name - 1] = '\0';
    make_printable(tensor.name);
}

} // namespace

void fill(ggml_tensor &tensor, const TensorRecord &record) {
    int64_t ne[4];
    uint64_t nb[4];
    std::copy(std::begin(record.ne), std::end(record.ne), ne);
    std::copy(std::begin(record.nb), std::end(record.nb), nb);
    set_shape(tensor, record.type, ne, nb);
    set_op(tensor, record.op, record.op_params, record.flags, record.name);
}

void fill(ggml_tensor &tensor, const WideTensorRecord &record) {
    set_shape(tensor, record.type, record.ne, record.nb);
    set_op(tensor, record.op, record.op_params, record.flags, record.name);
}

void fill(ggml_tensor &tensor, const RawTensor &record) {
    set_shape(tensor, record.type, record.ne, record.nb);
    set_op(tensor, record.op, record.op_params, record.flags, record.name);
}

Extent extent_of(const ggml_tensor &tensor) {
    Block block = block_of(tensor.type);
    Wide elements = 1;
    for (int64_t n : tensor.ne) elements *= static_cast<uint64_t>(n);
    if (elements == 0) return {0, 0};
    // Kernels that read a row as an array touch whole elements, whatever nb[0] says.
    uint64_t blocks = static_cast<uint64_t>(tensor.ne[0]) / block.elements;
    Wide strided = static_cast<Wide>(blocks - 1) * std::max<uint64_t>(tensor.nb[0], block.bytes) + block.bytes;
    // ggml itself counts a row of blocks as ne[0] * nb[0] / block size.
    if (block.elements > 1) strided = std::max(strided, static_cast<Wide>(tensor.ne[0]) * tensor.nb[0] / block.elements);
    for (int i = 1; i < GGML_MAX_DIMS; ++i) strided += static_cast<Wide>(static_cast<uint64_t>(tensor.ne[i]) - 1) * tensor.nb[i];
    Wide packed = elements / block.elements * block.bytes;
    if (strided > max_extent || packed > max_extent) refuse("a tensor that reaches over more than 2^48 bytes");
    return {static_cast<uint64_t>(strided), static_cast<uint64_t>(packed)};
}

} // namespace apir::host
