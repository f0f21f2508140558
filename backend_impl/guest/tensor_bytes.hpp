// Bytes of a tensor's data, as ggml_nbytes has them.
#pragma once

#include <array>
#include <atomic>

#include "abi/backend_interface.hpp"

namespace apir::guest {

// Of a type that was met: its bytes and the elements of its block. 0: not met, or not known.
inline std::array<std::atomic<uint64_t>, GGML_TYPE_COUNT> known_types{};

// Asks libggml for one that it knows, for there is a tensor of it. 0: more than the table holds.
uint64_t meet_type(enum ggml_type type);

// ggml_nbytes, which calls two functions of its library by way of its procedure linkage table. libggml asks for the size of each tensor of a graph: in an
// emulated machine that took longer than to look up the host's answer.
inline size_t tensor_bytes(const ggml_tensor *tensor) {
    const auto type = static_cast<size_t>(tensor->type);
    if (type >= known_types.size()) return ggml_nbytes(tensor);
    uint64_t known = known_types[type].load(std::memory_order_relaxed);
    if (known == 0) known = meet_type(tensor->type);
    if (known == 0) return ggml_nbytes(tensor);
    const size_t elements = known & UINT32_MAX;
    const auto stretch = [tensor](int d) { return static_cast<size_t>(tensor->ne[d] - 1) * tensor->nb[d]; };
    for (int d = 0; d < GGML_MAX_DIMS; ++d)
        if (tensor->ne[d] <= 0) return 0;
    size_t bytes = elements == 1 ? (known >> 32) + stretch(0) : static_cast<size_t>(tensor->ne[0]) * tensor->nb[0] / elements;
    for (int d = 1; d < GGML_MAX_DIMS; ++d) bytes += stretch(d);
    return bytes;
}

} // namespace apir::guest
