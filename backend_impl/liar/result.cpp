#include "result.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <ggml-backend.h>

namespace apir::liar {
namespace {

// Wrong by more than its own size and never by little, and still a number: what a numeric mistake leaves behind. Tolerances for
// products let a single element of many be wrong by less than one.
float wrong_number(float value) {
    if (!std::isfinite(value)) return 0.0f;
    return value + std::max(4.0f, 2.0f * std::fabs(value));
}

template <typename Stored> Stored loaded(const uint8_t *at) {
    Stored value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <typename Stored> void store(uint8_t *at, Stored value) { std::memcpy(at, &value, sizeof value); }

// An index stays within what it counts, so that an op behind this one does not leave its memory.
int32_t wrong_index(int32_t value) { return value > 0 ? value - 1 : 1; }

void spoil_element(ggml_type type, uint8_t *at, size_t size) {
    switch (type) {
    case GGML_TYPE_F32: return store(at, wrong_number(loaded<float>(at)));
    case GGML_TYPE_F16: return store(at, ggml_fp32_to_fp16(wrong_number(ggml_fp16_to_fp32(loaded<ggml_fp16_t>(at)))));
    case GGML_TYPE_BF16: return store(at, ggml_fp32_to_bf16(wrong_number(ggml_bf16_to_fp32(loaded<ggml_bf16_t>(at)))));
    case GGML_TYPE_I32: return store(at, wrong_index(loaded<int32_t>(at)));
    default: // other whole numbers, and blocks of quantised ones
        for (size_t i = 0; i < size; ++i) at[i] = static_cast<uint8_t>(~at[i]);
    }
}

// Where the elements of a result lie in its bytes: blocks of a quantised type count as one.
class Elements {
  public:
    explicit Elements(const ggml_tensor &tensor) : tensor_(tensor), row_(tensor.ne[0] / ggml_blck_size(tensor.type)) {}

    uint64_t count() const { return static_cast<uint64_t>(row_ * tensor_.ne[1] * tensor_.ne[2] * tensor_.ne[3]); }
    size_t size() const { return ggml_type_size(tensor_.type); }
    size_t offset(uint64_t index) const {
        size_t at = static_cast<size_t>(index % static_cast<uint64_t>(row_)) * tensor_.nb[0];
        index /= static_cast<uint64_t>(row_);
        for (int d = 1; d < GGML_MAX_DIMS; ++d) {
            at += static_cast<size_t>(index % static_cast<uint64_t>(tensor_.ne[d])) * tensor_.nb[d];
            index /= static_cast<uint64_t>(tensor_.ne[d]);
        }
        return at;
    }

  private:
    const ggml_tensor &tensor_;
    int64_t row_;
};

} // namespace

void spoil(ggml_tensor &result, const Lie &lie) {
    Elements elements(result);
    if (elements.count() == 0) return;
    std::vector<uint8_t> bytes(ggml_nbytes(&result));
    ggml_backend_tensor_get(&result, bytes.data(), 0, bytes.size());
    uint64_t chosen = std::min(lie.element.value_or(0), elements.count() - 1);
    if (lie.kind == Kind::flip) {
        size_t bit = lie.amount % (8 * elements.size());
        bytes[elements.offset(chosen) + bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    } else {
        uint64_t first = lie.element ? chosen : 0;
        uint64_t end = lie.element ? chosen + 1 : elements.count();
        for (uint64_t i = first; i < end; ++i) spoil_element(result.type, bytes.data() + elements.offset(i), elements.size());
    }
    ggml_backend_tensor_set(&result, bytes.data(), 0, bytes.size());
}

} // namespace apir::liar
