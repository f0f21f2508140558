// Bytes of a tensor's data, as ggml_nbytes has them.
#pragma once

#include <array>

#include "abi/backend_interface.hpp"

namespace apir::guest {

// Elements of a block, and its bytes. 0 and 0: not known.
struct TypeSize {
    size_t elements = 0;
    size_t bytes = 0;
};

const std::array<TypeSize, GGML_TYPE_COUNT> &type_sizes();

// ggml_nbytes, which calls a function of its library for each number that it needs, each with checks that call some more: libggml asks for the size of
// each tensor of a graph, and in an emulated machine that took longer than to look up the host's answer.
inline size_t tensor_bytes(const ggml_tensor *tensor) {
    static const std::array<TypeSize, GGML_TYPE_COUNT> &sizes = type_sizes();
    const auto type = static_cast<size_t>(tensor->type);
    if (type >= sizes.size() || sizes[type].elements == 0) return ggml_nbytes(tensor);
    const auto stretch = [tensor](int d) { return static_cast<size_t>(tensor->ne[d] - 1) * tensor->nb[d]; };
    for (int d = 0; d < GGML_MAX_DIMS; ++d)
        if (tensor->ne[d] <= 0) return 0;
    size_t bytes = sizes[type].elements == 1 ? sizes[type].bytes + stretch(0) : static_cast<size_t>(tensor->ne[0]) * tensor->nb[0] / sizes[type].elements;
    for (int d = 1; d < GGML_MAX_DIMS; ++d) bytes += stretch(d);
    return bytes;
}

} // namespace apir::guest
