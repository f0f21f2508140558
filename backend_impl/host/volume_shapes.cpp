#include "shape_rules.hpp"
#include "shape_terms.hpp"

namespace apir::host {
namespace {

using T = const ggml_tensor &;

T a(T t) { return *t.src[0]; }
T b(T t) { return *t.src[1]; }
T c(T t) { return *t.src[2]; }

// Steps along an axis of a volume; parameters are strides, paddings, dilations, of three axes each. ggml lets a kernel be of no
// size there.
int64_t volume_steps(T t, int axis) {
    Window window{a(t).ne[axis], t.op_params[axis], t.op_params[3 + axis], t.op_params[6 + axis]};
    if (window.kernel != 0) return steps(b(t).ne[axis], window);
    if (window.stride <= 0 || window.padding < 0 || window.dilation <= 0) return 0;
    return (b(t).ne[axis] + 2 * window.padding + window.dilation - 1) / window.stride + 1;
}

// Windows of a side along a length, the last one padded.
int64_t windows(int64_t length, int64_t side) { return (length + side - 1) / side; }

} // namespace

// a is the gradient of what im2col made of an image like t with the kernel b.
bool im2col_back(T t) {
    auto window = [&](int axis) {
        return Window{b(t).ne[axis], t.op_params[axis], t.op_params[2 + axis], t.op_params[4 + axis]};
    };
    if (!all_f32(t, 1) || !all_contiguous(t, 2)) return false;
    int64_t wide = steps(t.ne[0], window(0));
    if (t.op_params[6] != 1)
        return wide > 0 && b(t).ne[1] == t.ne[1] && t.ne[3] == 1 && is_shape(a(t), t.ne[1] * b(t).ne[0], wide, t.ne[2], 1);
    int64_t high = steps(t.ne[1], window(1));
    return wide > 0 && high > 0 && b(t).ne[2] == t.ne[2] &&
           is_shape(a(t), t.ne[2] * b(t).ne[0] * b(t).ne[1], wide, high, t.ne[3]);
}

bool im2col_3d(T t) {
    int64_t channels = t.op_params[9];
    if (channels <= 0) return false;
    int64_t wide = volume_steps(t, 0);
    int64_t high = volume_steps(t, 1);
    int64_t deep = volume_steps(t, 2);
    Wide patch = Wide{channels} * a(t).ne[0] * a(t).ne[1] * a(t).ne[2];
    // Channels that make no whole image are left out, as ggml does.
    return wide > 0 && high > 0 && deep > 0 && t.ne[0] == patch && t.ne[1] == wide && t.ne[2] == high &&
           t.ne[3] == Wide{deep} * (b(t).ne[3] / channels);
}

bool conv_3d(T t) {
    int64_t channels = t.op_params[9];
    int64_t images = t.op_params[10];
    int64_t made = t.op_params[11];
    if (channels < 0 || images < 0 || made < 0) return false;
    if (!fits_work(a(t), Wide{channels} * a(t).ne[0] * a(t).ne[1] * a(t).ne[2], made)) return false;
    return a(t).ne[3] == channels * made && b(t).ne[3] == channels * images &&
           is_shape(t, volume_steps(t, 0), volume_steps(t, 1), volume_steps(t, 2), made * images);
}

bool col2im_1d(T t) {
    int64_t stride = t.op_params[0];
    int64_t channels = t.op_params[1];
    int64_t cropped = t.op_params[2];
    if (stride <= 0 || channels <= 0 || cropped < 0 || !divides(channels, a(t).ne[0])) return false;
    return is_shape(a(t), a(t).ne[0], a(t).ne[1], 1, 1) &&
           is_shape(t, (a(t).ne[1] - 1) * stride + a(t).ne[0] / channels - 2 * cropped, channels, 1, 1);
}

bool pool_2d_back(T t) {
    const int32_t *p = t.op_params;
    return p[0] >= 0 && p[0] < GGML_OP_POOL_COUNT && same(t, b(t)) && a(t).type == GGML_TYPE_F32 && all_contiguous(t, 2) &&
           is_shape(a(t), steps(t.ne[0], {p[1], p[3], p[5], 1}), steps(t.ne[1], {p[2], p[4], p[6], 1}), t.ne[2], t.ne[3]);
}

bool window_part(T t) {
    int64_t side = t.op_params[2];
    if (side <= 0 || a(t).ne[3] != 1 || !all_f32(t, 1) || !all_contiguous(t, 1)) return false;
    int64_t wide = windows(a(t).ne[1], side);
    int64_t high = windows(a(t).ne[2], side);
    return t.op_params[0] == wide && t.op_params[1] == high && is_shape(t, a(t).ne[0], side, side, wide * high);
}

bool window_unpart(T t) {
    int64_t side = t.op_params[0];
    if (side <= 0 || t.ne[3] != 1 || !all_f32(t, 1) || !all_contiguous(t, 1)) return false;
    return is_shape(a(t), t.ne[0], side, side, windows(t.ne[1], side) * windows(t.ne[2], side));
}

bool get_relative_positions(T t) {
    bool half = t.type == GGML_TYPE_F16 && a(t).type == GGML_TYPE_F16;
    return half && all_contiguous(t, 1) && t.ne[1] == t.ne[2] && t.ne[3] == 1 && is_shape(a(t), t.ne[0], 2 * t.ne[1] - 1, 1, 1);
}

bool add_relative_positions(T t) {
    return all_f32(t, 3) && all_contiguous(t, 3) && same(t, a(t)) && same(b(t), c(t)) && a(t).ne[3] == 1 &&
           is_shape(a(t), b(t).ne[0] * b(t).ne[0], b(t).ne[1] * b(t).ne[2], b(t).ne[3], 1);
}

} // namespace apir::host
