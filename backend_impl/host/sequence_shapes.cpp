#include "shape_rules.hpp"
#include "shape_terms.hpp"

namespace apir::host {
namespace {

using T = const ggml_tensor &;

T s(T t, int index) { return *t.src[index]; }

// Linear attention: `inputs` sources like the first ([size, heads, tokens]) and a state of size x size per head and sequence
// give the outputs of all tokens and behind them the new states.
bool linear_attention(T t, int inputs, int alike) {
    T first = s(t, 0);
    T state = s(t, inputs);
    if (!all_f32(t, inputs + 1) || !all_contiguous(t, inputs + 1) || first.ne[3] != 1) return false;
    for (int i = 1; i < alike; ++i)
        if (!same(s(t, i), first)) return false;
    int64_t size = first.ne[0];
    Wide per_sequence = Wide{size} * size * first.ne[1];
    int64_t sequences = per_sequence == 0 ? 0 : static_cast<int64_t>(elements(state) / per_sequence);
    return divides(sequences, first.ne[2]) && state.ne[1] == sequences && elements(state) == per_sequence * sequences && t.ne[0] == size * first.ne[1] &&
           t.ne[1] == first.ne[2] + size * sequences && t.ne[2] == 1 && t.ne[3] == 1;
}

} // namespace

// Which states the last source chooses is data: a kernel that trusts it is asked no more than what it can be given.
bool ssm_scan(T t) {
    T state = s(t, 0), x = s(t, 1), dt = s(t, 2), decay = s(t, 3), in = s(t, 4), out = s(t, 5), ids = s(t, 6);
    int64_t heads = x.ne[1];
    int64_t snapshots = t.op_params[0];
    if (!all_f32(t, 6) || ids.type != GGML_TYPE_I32 || snapshots < 1 || !ggml_is_contiguous(&t)) return false;
    // The kernel counts the numbers of one sequence's state in an int.
    if (!fits_int(state.ne[0], state.ne[1], state.ne[2])) return false;
    bool shapes = state.ne[1] == x.ne[0] && state.ne[2] == heads && is_shape(dt, heads, x.ne[2], x.ne[3], 1) &&
                  (decay.ne[0] == 1 || decay.ne[0] == state.ne[0]) && decay.ne[1] == heads && decay.ne[2] == 1 && decay.ne[3] == 1 &&
                  in.ne[0] == state.ne[0] && divides(in.ne[1], heads) && in.ne[2] == x.ne[2] && in.ne[3] == x.ne[3] &&
                  same(in, out) && is_shape(ids, x.ne[3], 1, 1, 1);
    Wide states = Wide{state.ne[0]} * state.ne[1] * state.ne[2] * ids.ne[0] * snapshots;
    return shapes && elements(t) == elements(x) + states;
}

bool rwkv_wkv6(T t) {
    // Source 3, the first token's bonus, is one for all tokens.
    return is_shape(s(t, 3), s(t, 0).ne[0], s(t, 0).ne[1], 1, 1) && same(s(t, 4), s(t, 0)) && linear_attention(t, 5, 3);
}
bool rwkv_wkv7(T t) { return linear_attention(t, 6, 6); }
bool gated_linear_attention(T t) { return linear_attention(t, 4, 4); }

bool gated_delta_net(T t) {
    T q = s(t, 0), k = s(t, 1), v = s(t, 2), gate = s(t, 3), beta = s(t, 4), state = s(t, 5);
    int64_t size = v.ne[0];
    int64_t heads = v.ne[1];
    int64_t snapshots = t.op_params[0];
    if (!all_f32(t, 6) || snapshots < 1 || !ggml_is_contiguous(&t) || !ggml_is_contiguous(&state)) return false;
    if (!fits_int(size, size)) return false; // what the kernel counts a head's state in
    // The kernel goes from sequence to sequence by the state's last stride, whatever its shape is.
    if (v.ne[3] != 1 && state.nb[3] != Wide{size} * size * heads * sizeof(float)) return false;
    bool shapes = same(q, k) && q.ne[0] == size && divides(q.ne[1], heads) && q.ne[2] == v.ne[2] && divides(q.ne[3], v.ne[3]) &&
                  (gate.ne[0] == 1 || gate.ne[0] == size) && gate.ne[1] == heads && gate.ne[2] == v.ne[2] && gate.ne[3] == v.ne[3] &&
                  is_shape(beta, 1, heads, v.ne[2], v.ne[3]) && elements(state) == Wide{size} * size * heads * v.ne[3];
    return shapes && t.ne[0] == size * heads && t.ne[1] == v.ne[2] * v.ne[3] + Wide{size} * v.ne[3] * snapshots && t.ne[2] == 1 &&
           t.ne[3] == 1;
}

bool solve_triangular(T t) {
    T a = s(t, 0), b = s(t, 1);
    return all_f32(t, 2) && all_contiguous(t, 2) && a.ne[0] == a.ne[1] && a.ne[1] == b.ne[1] && a.ne[2] == b.ne[2] &&
           a.ne[3] == b.ne[3] && same(t, b);
}

bool lightning_indexer(T t) {
    T q = s(t, 0), k = s(t, 1), weights = s(t, 2), mask = s(t, 3);
    return t.type == GGML_TYPE_F32 && q.type == GGML_TYPE_F32 && weights.type == GGML_TYPE_F32 && mask.type == GGML_TYPE_F16 &&
           is_shape(k, q.ne[0], 1, k.ne[2], q.ne[3]) && is_shape(weights, q.ne[1], q.ne[2], 1, q.ne[3]) && mask.ne[0] == k.ne[2] &&
           mask.ne[1] == q.ne[2] && mask.ne[2] == 1 && divides(mask.ne[3], q.ne[3]) && is_shape(t, k.ne[2], q.ne[2], 1, q.ne[3]);
}

bool hyper_connection_combine(T t) {
    constexpr int64_t kernel_streams = 4; // the kernel knows no other number of them
    constexpr int32_t most_iterations = 1000; // it is normalised that often
    int64_t streams = t.ne[0];
    int64_t mixed = (2 + streams) * streams;
    if (streams != kernel_streams) return false;
    return all_f32(t, 3) && t.op_params[1] > 0 && t.op_params[1] <= most_iterations && is_shape(t, streams, streams, t.ne[2], 1) &&
           is_shape(s(t, 0), mixed, t.ne[2], 1, 1) && is_shape(s(t, 1), 3, 1, 1, 1) && is_shape(s(t, 2), mixed, 1, 1, 1);
}

bool hyper_connection_before(T t) {
    T x = s(t, 0), weights = s(t, 1);
    bool weighed = t.op_params[1] == 0 ? is_shape(weights, x.ne[1], x.ne[2], 1, 1) : same(weights, x);
    return all_f32(t, 2) && weighed && x.ne[3] == 1 && is_shape(t, x.ne[0], x.ne[2], 1, 1);
}

bool hyper_connection_after(T t) {
    T x = s(t, 0), streams = s(t, 1), weights = s(t, 2);
    const ggml_tensor *combined = t.src[3];
    int64_t count = streams.ne[1];
    return all_f32(t, 3) && same(t, streams) && streams.ne[3] == 1 && is_shape(x, t.ne[0], t.ne[2], 1, 1) &&
           is_shape(weights, count, t.ne[2], 1, 1) &&
           (combined == nullptr || (combined->type == GGML_TYPE_F32 && is_shape(*combined, count, count, t.ne[2], 1)));
}

} // namespace apir::host
