#include "clock.hpp"
#include "measures.hpp"
#include "token_model.hpp"

namespace apir::bench {

namespace {

constexpr int64_t values = 4;

// A chain of sums: x, x + y, x + y + y, …
struct Chain {
    Context context;
    Buffer buffer;
    ggml_cgraph *graph;

    Chain(Subject &subject, size_t nodes) : context(description_context(nodes + 2)), graph(ggml_new_graph_custom(context.get(), nodes + 2, false)) {
        ggml_tensor *first = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, values);
        ggml_tensor *added = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, values);
        ggml_tensor *sum = first;
        for (size_t i = 0; i < nodes; ++i) sum = ggml_add(context.get(), sum, added);
        ggml_build_forward_expand(graph, sum);
        buffer.reset(ggml_backend_alloc_ctx_tensors(context.get(), subject.backend()));
        if (buffer == nullptr) throw Failure("no buffer for a graph");
        const std::vector<float> ones(values, 1.0F);
        ggml_backend_tensor_set(first, ones.data(), 0, sizeof(float) * values);
        ggml_backend_tensor_set(added, ones.data(), 0, sizeof(float) * values);
    }

    void compute(Subject &subject) {
        if (ggml_backend_graph_compute(subject.backend(), graph) != GGML_STATUS_SUCCESS) throw Failure("a graph was not computed");
    }

    void check(size_t nodes) {
        std::vector<float> result(values);
        ggml_backend_tensor_get(ggml_graph_node(graph, -1), result.data(), 0, sizeof(float) * values);
        if (result != std::vector<float>(values, static_cast<float>(nodes + 1))) throw Failure("a graph's result is wrong");
    }
};

} // namespace

void graph(Subject &subject, const Request &request, Row &row) {
    const size_t nodes = request.number("nodes", 1);
    Chain chain(subject, nodes);
    auto once = [&] { chain.compute(subject); };
    row.samples(timed_warm(request.number("warm", 1, 0), request.number("rounds", 10), once)).number("nodes", nodes);
    chain.check(nodes);
}

void token(Subject &subject, const Request &request, Row &row) {
    TokenModel model(subject, request.number("rebuild", 0, 0) != 0);
    row.samples(timed_warm(request.number("warm", 2, 0), request.number("rounds", 10), [&] { model.next_token(); }));
    row.number("nodes", static_cast<uint64_t>(model.nodes())).number("splits", static_cast<uint64_t>(model.splits()));
    row.text("digest", model.digest());
}

} // namespace apir::bench
