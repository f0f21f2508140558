#include "token_model.hpp"

#include <cmath>
#include <cstdio>

#include "request.hpp"

namespace apir::bench {

namespace {

constexpr size_t layer_count = 22;
constexpr int64_t heads = 2;
constexpr int64_t head_size = 16;
constexpr int64_t width = heads * head_size;
constexpr int64_t inner = 2 * width;
constexpr int64_t window = 32; // tokens that are remembered
constexpr int64_t words = 64;
constexpr size_t tensor_limit = 2048;
constexpr float epsilon = 1e-5F;

} // namespace

TokenModel::TokenModel(Subject &subject, bool rebuild)
    : subject_(subject), rebuild_(rebuild), processor_(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr)),
      weights_(description_context(tensor_limit)), layers_(layer_count) {
    if (processor_ == nullptr) throw Failure("ggml has no CPU backend here");
    make_weights();
    ggml_backend_t backends[] = {subject.backend(), processor_.get()};
    scheduler_.reset(ggml_backend_sched_new(backends, nullptr, 2, tensor_limit, false, true));
    if (scheduler_ == nullptr) throw Failure("no scheduler");
    describe();
    allocate();
}

ggml_tensor *TokenModel::weight(int64_t columns, int64_t rows) { return ggml_new_tensor_2d(weights_.get(), GGML_TYPE_F32, columns, rows); }

void TokenModel::make_weights() {
    for (Layer &layer : layers_) {
        layer = {weight(width, 1), weight(width, width), weight(width, width), weight(width, width), weight(width, width), weight(width, 1),
                 weight(width, inner), weight(width, inner), weight(inner, width), weight(width, window), weight(width, window)};
    }
    embedding_ = weight(width, words);
    out_norm_ = weight(width, 1);
    out_ = weight(width, words);
    weight_buffer_.reset(ggml_backend_alloc_ctx_tensors(weights_.get(), subject_.backend()));
    if (weight_buffer_ == nullptr) throw Failure("no buffer for the weights");
    ggml_backend_buffer_set_usage(weight_buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    uint32_t state = 1;
    std::vector<float> numbers;
    for (ggml_tensor *tensor = ggml_get_first_tensor(weights_.get()); tensor != nullptr;
         tensor = ggml_get_next_tensor(weights_.get(), tensor)) {
        numbers.resize(static_cast<size_t>(ggml_nelements(tensor)));
        for (float &number : numbers) {
            state = state * 1664525u + 1013904223u;
            number = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
        }
        ggml_backend_tensor_set(tensor, numbers.data(), 0, ggml_nbytes(tensor));
    }
}

ggml_tensor *TokenModel::attention(const Layer &layer, ggml_tensor *x) {
    ggml_context *c = context_.get();
    x = ggml_mul(c, ggml_rms_norm(c, x, epsilon), layer.norm);
    ggml_tensor *query = ggml_reshape_3d(c, ggml_mul_mat(c, layer.query, x), head_size, heads, 1);
    ggml_tensor *key = ggml_reshape_3d(c, ggml_mul_mat(c, layer.key, x), head_size, heads, 1);
    ggml_tensor *value = ggml_mul_mat(c, layer.value, x);
    query = ggml_rope(c, query, inputs_.position, head_size, 0);
    key = ggml_reshape_2d(c, ggml_rope(c, key, inputs_.position, head_size, 0), width, 1);
    ggml_tensor *keys = ggml_set_rows(c, layer.keys, key, inputs_.row);
    ggml_tensor *kept = ggml_set_rows(c, layer.values, value, inputs_.row);
    keys = ggml_permute(c, ggml_reshape_3d(c, keys, head_size, heads, window), 0, 2, 1, 3);
    kept = ggml_cont(c, ggml_permute(c, ggml_reshape_3d(c, kept, head_size, heads, window), 1, 2, 0, 3));
    ggml_tensor *scores = ggml_mul_mat(c, keys, ggml_permute(c, query, 0, 2, 1, 3));
    scores = ggml_soft_max_ext(c, scores, inputs_.mask, 1.0F / std::sqrt(static_cast<float>(head_size)), 0.0F);
    ggml_tensor *mixed = ggml_permute(c, ggml_mul_mat(c, kept, scores), 0, 2, 1, 3);
    return ggml_mul_mat(c, layer.out, ggml_cont_2d(c, mixed, width, 1));
}

ggml_tensor *TokenModel::feed_forward(const Layer &layer, ggml_tensor *x) {
    ggml_context *c = context_.get();
    x = ggml_mul(c, ggml_rms_norm(c, x, epsilon), layer.ffn_norm);
    ggml_tensor *gate = ggml_silu(c, ggml_mul_mat(c, layer.gate, x));
    return ggml_mul_mat(c, layer.down, ggml_mul(c, gate, ggml_mul_mat(c, layer.up, x)));
}

void TokenModel::describe() {
    context_ = description_context(tensor_limit);
    ggml_context *c = context_.get();
    inputs_ = {ggml_new_tensor_1d(c, GGML_TYPE_I32, 1), ggml_new_tensor_1d(c, GGML_TYPE_I32, 1), ggml_new_tensor_1d(c, GGML_TYPE_I64, 1),
               ggml_new_tensor_2d(c, GGML_TYPE_F32, window, 1)};
    for (ggml_tensor *input : {inputs_.token, inputs_.position, inputs_.row, inputs_.mask}) ggml_set_input(input);
    ggml_tensor *x = ggml_get_rows(c, embedding_, inputs_.token);
    for (const Layer &layer : layers_) {
        x = ggml_add(c, x, attention(layer, x));
        x = ggml_add(c, x, feed_forward(layer, x));
    }
    logits_ = ggml_mul_mat(c, out_, ggml_mul(c, ggml_rms_norm(c, x, epsilon), out_norm_));
    ggml_set_output(logits_);
    graph_ = ggml_new_graph_custom(c, tensor_limit, false);
    ggml_build_forward_expand(graph_, logits_);
}

void TokenModel::allocate() {
    ggml_backend_sched_reset(scheduler_.get());
    if (!ggml_backend_sched_alloc_graph(scheduler_.get(), graph_)) throw Failure("the scheduler has no memory for the graph");
}

void TokenModel::set_inputs() {
    int32_t token = static_cast<int32_t>(digest_ % words);
    int32_t position = static_cast<int32_t>(position_);
    int64_t row = static_cast<int64_t>(position_ % window);
    std::vector<float> mask(window, 0.0F);
    for (size_t i = position_ + 1; i < mask.size(); ++i) mask[i] = -INFINITY;
    ggml_backend_tensor_set(inputs_.token, &token, 0, sizeof token);
    ggml_backend_tensor_set(inputs_.position, &position, 0, sizeof position);
    ggml_backend_tensor_set(inputs_.row, &row, 0, sizeof row);
    ggml_backend_tensor_set(inputs_.mask, mask.data(), 0, mask.size() * sizeof(float));
}

void TokenModel::next_token() {
    if (rebuild_ && position_ != 0) {
        describe();
        allocate();
    }
    set_inputs();
    if (ggml_backend_sched_graph_compute_async(scheduler_.get(), graph_) != GGML_STATUS_SUCCESS) throw Failure("a token was not computed");
    std::vector<float> logits(words);
    ggml_backend_t backend = ggml_backend_sched_get_tensor_backend(scheduler_.get(), logits_);
    ggml_backend_tensor_get_async(backend, logits_, logits.data(), 0, logits.size() * sizeof(float));
    ggml_backend_sched_synchronize(scheduler_.get());
    const auto *bytes = reinterpret_cast<const uint8_t *>(logits.data());
    for (size_t i = 0; i < logits.size() * sizeof(float); ++i) digest_ = (digest_ ^ bytes[i]) * 1099511628211u;
    ++position_;
}

int TokenModel::nodes() const { return ggml_graph_n_nodes(graph_); }

int TokenModel::splits() const { return ggml_backend_sched_get_n_splits(scheduler_.get()); }

std::string TokenModel::digest() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest_));
    return text;
}

} // namespace apir::bench
