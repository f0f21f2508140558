#include "tensor_bytes.hpp"

namespace apir::guest {

uint64_t meet_type(enum ggml_type type) {
    const int64_t elements = ggml_blck_size(type);
    const size_t bytes = ggml_type_size(type);
    if (elements <= 0 || elements > UINT32_MAX || bytes > UINT32_MAX) return 0;
    const uint64_t known = uint64_t{bytes} << 32 | static_cast<uint64_t>(elements);
    known_types[static_cast<size_t>(type)].store(known, std::memory_order_relaxed);
    return known;
}

} // namespace apir::guest
