// The terms in which op_shapes.cpp states its rules. Dimensions are at most 2^31, elements at most 2^48: nothing overflows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <ggml.h>

namespace apir::host {

using Wide = __int128;

inline bool same(const ggml_tensor &x, const ggml_tensor &y) { return std::memcmp(x.ne, y.ne, sizeof x.ne) == 0; }

inline bool is_shape(const ggml_tensor &x, int64_t n0, int64_t n1, int64_t n2, int64_t n3) {
    return x.ne[0] == n0 && x.ne[1] == n1 && x.ne[2] == n2 && x.ne[3] == n3;
}

inline int64_t elements(const ggml_tensor &x) { return x.ne[0] * x.ne[1] * x.ne[2] * x.ne[3]; }

inline bool all_f32(const ggml_tensor &t, int sources) {
    for (int i = 0; i < sources; ++i)
        if (t.src[i]->type != GGML_TYPE_F32) return false;
    return t.type == GGML_TYPE_F32;
}

// Of kernels that walk their data as one array, whatever the strides are.
inline bool all_contiguous(const ggml_tensor &t, int sources) {
    for (int i = 0; i < sources; ++i)
        if (!ggml_is_contiguous(t.src[i])) return false;
    return ggml_is_contiguous(&t);
}

// Whether a kernel that counts in an int gets over so many: none on an axis does not keep it from counting on the others.
inline bool fits_int(int64_t n0, int64_t n1, int64_t n2 = 1) {
    return Wide{std::max<int64_t>(n0, 1)} * std::max<int64_t>(n1, 1) * std::max<int64_t>(n2, 1) <= INT32_MAX;
}

inline bool divides(int64_t part, int64_t whole) { return part != 0 && whole % part == 0; }

// Whether `whole` is `part` a number of times in each dimension.
inline bool repeats(const ggml_tensor &part, const ggml_tensor &whole) {
    for (int i = 0; i < GGML_MAX_DIMS; ++i)
        if (!divides(part.ne[i], whole.ne[i])) return false;
    return true;
}

inline float float_parameter(const ggml_tensor &x, int index) {
    float value;
    std::memcpy(&value, &x.op_params[index], sizeof value);
    return value;
}

// Where a kernel goes over an axis.
struct Window {
    int64_t kernel, stride, padding, dilation;
};

// How often it fits; 0 when never, or when it is none.
inline int64_t steps(int64_t length, const Window &window) {
    if (window.kernel <= 0 || window.stride <= 0 || window.padding < 0 || window.dilation <= 0) return 0;
    // ggml rounds towards 0, so that a kernel a little too large for its axis still fits once.
    int64_t count = (length + 2 * window.padding - window.dilation * (window.kernel - 1) - 1) / window.stride + 1;
    return count < 0 ? 0 : count;
}

// What ggml-cpu computes a convolution in: a patch of so many numbers has to fit, and what all channels make of it.
inline bool fits_work(const ggml_tensor &kernel, Wide numbers, int64_t channels) {
    constexpr Wide work_bytes = 16 << 20;
    return numbers * static_cast<int64_t>(ggml_type_size(kernel.type)) + Wide{channels} * static_cast<int64_t>(sizeof(float)) <= work_bytes;
}

// Elements of ARANGE, whose parameters are start, stop and step.
inline int64_t arange_steps(const ggml_tensor &x) {
    float range[3];
    std::memcpy(range, x.op_params, sizeof range);
    float count = std::ceil((range[1] - range[0]) / range[2]);
    return count >= 1 && count <= 1e9f ? static_cast<int64_t>(count) : -1;
}

} // namespace apir::host
