// A graph as a small language model's: 22 layers, some 700 nodes, next to no arithmetic, computed by ggml's scheduler one token at a
// time as programs do. What a token costs beyond the arithmetic is what remoting costs.
#pragma once

#include <string>
#include <vector>

#include "subject.hpp"

namespace apir::bench {

class TokenModel {
  public:
    // `rebuild`: the graph is described and allocated anew for every token. Weights are the same numbers every time.
    TokenModel(Subject &subject, bool rebuild);

    // Throws Failure when it was not computed.
    void next_token();

    int nodes() const;
    int splits() const;
    // Of all that the model has said so far: equal for equal results.
    std::string digest() const;

  private:
    struct Layer {
        ggml_tensor *norm, *query, *key, *value, *out, *ffn_norm, *gate, *up, *down, *keys, *values;
    };
    struct Inputs {
        ggml_tensor *token, *position, *row, *mask;
    };
    using Scheduler = std::unique_ptr<ggml_backend_sched, Freed<ggml_backend_sched_free>>;

    ggml_tensor *weight(int64_t columns, int64_t rows);
    void make_weights();
    void describe();
    void allocate();
    ggml_tensor *attention(const Layer &layer, ggml_tensor *x);
    ggml_tensor *feed_forward(const Layer &layer, ggml_tensor *x);
    void set_inputs();

    Subject &subject_;
    const bool rebuild_;
    Backend processor_;
    Context weights_;
    Buffer weight_buffer_;
    Scheduler scheduler_;
    std::vector<Layer> layers_;
    ggml_tensor *embedding_ = nullptr;
    ggml_tensor *out_norm_ = nullptr;
    ggml_tensor *out_ = nullptr;
    Context context_;
    Inputs inputs_{};
    ggml_cgraph *graph_ = nullptr;
    ggml_tensor *logits_ = nullptr;
    size_t position_ = 0;
    uint64_t digest_ = 14695981039346656037u;
};

} // namespace apir::bench
