#include "tensor_bytes.hpp"

namespace apir::guest {

namespace {

// Types that were given up have no block.
TypeSize size_of(enum ggml_type type) {
    const int64_t elements = ggml_blck_size(type);
    return elements <= 0 ? TypeSize{} : TypeSize{static_cast<size_t>(elements), ggml_type_size(type)};
}

} // namespace

// Never destroyed: programs may use tensors from their own static destructors.
const std::array<TypeSize, GGML_TYPE_COUNT> &type_sizes() {
    static const auto &sizes = *[] {
        auto *made = new std::array<TypeSize, GGML_TYPE_COUNT>;
        for (size_t type = 0; type < made->size(); ++type) (*made)[type] = size_of(static_cast<enum ggml_type>(type));
        return made;
    }();
    return sizes;
}

} // namespace apir::guest
