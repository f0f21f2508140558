// A graph like a language model's: 22 layers, some 700 nodes, a token at a time, built with ggml's public API alone. The numbers
// are small, so that calls and bytes weigh, not arithmetic.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace apir::test {

// How a token's keys and values get into the cache: by rows that an input names (the graph stays the same from token to token),
// or by a copy to a view that moves (some tensors of the graph change).
enum class CacheWrite { rows, view };

class ModelGraph {
  public:
    static constexpr int layers = 22;
    static constexpr int64_t width = 64;
    static constexpr int64_t heads = 4;
    static constexpr int64_t hidden = 128;
    static constexpr int64_t context_length = 32;
    static constexpr int64_t vocabulary = 96;

    ModelGraph(ggml_backend_t backend, CacheWrite way)
        : backend_(backend), way_(way), weights_(context(ggml_tensor_overhead() * (layers * 12 + 8))), graph_memory_(size_t{2} << 20),
          allocator_(ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend)), ggml_gallocr_free) {
        make_weights();
        buffer_.reset(ggml_backend_alloc_ctx_tensors(weights_.get(), backend));
        fill_weights();
    }

    bool usable() const { return buffer_ != nullptr; }
    int nodes() const { return ggml_graph_n_nodes(graph_); }

    // The logits after the token at a position; empty when something failed. Positions begin at 0.
    std::vector<float> next(int32_t token, int32_t position) {
        build(position);
        if (!ggml_gallocr_alloc_graph(allocator_.get(), graph_)) return {};
        int64_t row = position;
        std::vector<float> mask(context_length, -1e30F);
        for (int32_t i = 0; i <= position; ++i) mask[static_cast<size_t>(i)] = 0;
        ggml_backend_tensor_set(token_, &token, 0, sizeof token);
        ggml_backend_tensor_set(position_, &position, 0, sizeof position);
        ggml_backend_tensor_set(mask_, mask.data(), 0, mask.size() * sizeof(float));
        if (way_ == CacheWrite::rows) ggml_backend_tensor_set(row_, &row, 0, sizeof row);
        if (ggml_backend_graph_compute(backend_, graph_) != GGML_STATUS_SUCCESS) return {};
        std::vector<float> logits(vocabulary);
        ggml_backend_tensor_get(logits_, logits.data(), 0, logits.size() * sizeof(float));
        return logits;
    }

  private:
    struct FreeContext {
        void operator()(ggml_context *context) const { ggml_free(context); }
    };
    struct FreeBuffer {
        void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
    };
    using Context = std::unique_ptr<ggml_context, FreeContext>;

    struct Layer {
        ggml_tensor *norm, *q, *k, *v, *out, *ff_norm, *gate, *up, *down, *keys, *values;
    };

    static Context context(size_t size, void *memory = nullptr) { return Context(ggml_init({size, memory, true})); }

    ggml_tensor *weight(int64_t n0, int64_t n1 = 1) { return ggml_new_tensor_2d(weights_.get(), GGML_TYPE_F32, n0, n1); }

    void make_weights() {
        embedding_ = weight(width, vocabulary);
        norm_ = weight(width);
        for (Layer &l : layers_) {
            l = {weight(width),         weight(width, width), weight(width, width), weight(width, width),
                 weight(width, width),  weight(width),        weight(width, hidden), weight(width, hidden),
                 weight(hidden, width), weight(width, context_length), weight(width, context_length)};
        }
    }

    void fill_weights() {
        if (buffer_ == nullptr) return;
        uint32_t state = 12345;
        for (ggml_tensor *t = ggml_get_first_tensor(weights_.get()); t != nullptr; t = ggml_get_next_tensor(weights_.get(), t)) {
            std::vector<float> numbers(static_cast<size_t>(ggml_nelements(t)));
            for (float &number : numbers) {
                state = state * 1664525u + 1013904223u;
                number = (static_cast<float>(state >> 8) / 8388608.0F - 1.0F) * 0.2F;
            }
            ggml_backend_tensor_set(t, numbers.data(), 0, ggml_nbytes(t));
        }
    }

    // Built anew for each token, in the same memory, as programs do.
    void build(int32_t position) {
        graph_context_ = nullptr;
        graph_context_ = context(graph_memory_.size(), graph_memory_.data());
        ggml_context *c = graph_context_.get();
        graph_ = ggml_new_graph_custom(c, 2048, false);
        token_ = input(ggml_new_tensor_1d(c, GGML_TYPE_I32, 1));
        position_ = input(ggml_new_tensor_1d(c, GGML_TYPE_I32, 1));
        mask_ = input(ggml_new_tensor_2d(c, GGML_TYPE_F32, context_length, 1));
        if (way_ == CacheWrite::rows) row_ = input(ggml_new_tensor_1d(c, GGML_TYPE_I64, 1));
        ggml_tensor *x = ggml_get_rows(c, embedding_, token_);
        for (const Layer &l : layers_) {
            x = ggml_add(c, x, attention(l, normed(x, l.norm), position));
            x = ggml_add(c, x, forward(l, normed(x, l.ff_norm)));
        }
        logits_ = ggml_mul_mat(c, embedding_, normed(x, norm_));
        ggml_set_output(logits_);
        ggml_build_forward_expand(graph_, logits_);
    }

    static ggml_tensor *input(ggml_tensor *tensor) {
        ggml_set_input(tensor);
        return tensor;
    }

    ggml_tensor *normed(ggml_tensor *x, ggml_tensor *by) {
        return ggml_mul(graph_context_.get(), ggml_rms_norm(graph_context_.get(), x, 1e-5F), by);
    }

    ggml_tensor *by_head(ggml_tensor *x) { return ggml_reshape_3d(graph_context_.get(), x, width / heads, heads, x->ne[1]); }

    ggml_tensor *turned(ggml_tensor *x) {
        return ggml_rope(graph_context_.get(), by_head(x), position_, static_cast<int>(width / heads), 0);
    }

    void store(ggml_tensor *cache, ggml_tensor *now, int32_t position) {
        ggml_context *c = graph_context_.get();
        ggml_tensor *row = ggml_reshape_2d(c, now, width, 1);
        ggml_tensor *stored = way_ == CacheWrite::rows
                                  ? ggml_set_rows(c, cache, row, row_)
                                  : ggml_cpy(c, row, ggml_view_2d(c, cache, width, 1, cache->nb[1], cache->nb[1] * static_cast<size_t>(position)));
        ggml_build_forward_expand(graph_, stored);
    }

    // The cache as heads × rows × elements of a head, in the order that a product with them needs.
    ggml_tensor *cached(ggml_tensor *cache) {
        ggml_context *c = graph_context_.get();
        return ggml_permute(c, ggml_reshape_3d(c, cache, width / heads, heads, context_length), 0, 2, 1, 3);
    }

    ggml_tensor *attention(const Layer &l, ggml_tensor *x, int32_t position) {
        ggml_context *c = graph_context_.get();
        ggml_tensor *q = turned(ggml_mul_mat(c, l.q, x));
        store(l.keys, turned(ggml_mul_mat(c, l.k, x)), position);
        store(l.values, ggml_mul_mat(c, l.v, x), position);
        ggml_tensor *weights = ggml_mul_mat(c, cached(l.keys), ggml_permute(c, q, 0, 2, 1, 3));
        weights = ggml_soft_max_ext(c, weights, mask_, 0.25F, 0.0F);
        ggml_tensor *values = ggml_cont(c, ggml_transpose(c, cached(l.values)));
        ggml_tensor *seen = ggml_permute(c, ggml_mul_mat(c, values, weights), 0, 2, 1, 3);
        return ggml_mul_mat(c, l.out, ggml_cont_2d(c, seen, width, 1));
    }

    ggml_tensor *forward(const Layer &l, ggml_tensor *x) {
        ggml_context *c = graph_context_.get();
        return ggml_mul_mat(c, l.down, ggml_mul(c, ggml_silu(c, ggml_mul_mat(c, l.gate, x)), ggml_mul_mat(c, l.up, x)));
    }

    ggml_backend_t backend_;
    CacheWrite way_;
    Context weights_;
    std::unique_ptr<ggml_backend_buffer, FreeBuffer> buffer_;
    std::vector<uint8_t> graph_memory_;
    std::unique_ptr<ggml_gallocr, decltype(&ggml_gallocr_free)> allocator_;
    Context graph_context_;
    ggml_cgraph *graph_ = nullptr;
    ggml_tensor *embedding_ = nullptr;
    ggml_tensor *norm_ = nullptr;
    Layer layers_[layers] = {};
    ggml_tensor *token_ = nullptr, *position_ = nullptr, *mask_ = nullptr, *row_ = nullptr, *logits_ = nullptr;
};

} // namespace apir::test
