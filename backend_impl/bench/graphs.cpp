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
    ggml_tensor *first;

    Chain(Subject &subject, size_t nodes) : context(description_context(nodes + 2)), graph(ggml_new_graph_custom(context.get(), nodes + 2, false)) {
        first = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, values);
        ggml_tensor *added = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, values);
        ggml_tensor *sum = first;
        for (size_t i = 0; i < nodes; ++i) sum = ggml_add(context.get(), sum, added);
        ggml_build_forward_expand(graph, sum);
        buffer.reset(ggml_backend_alloc_ctx_tensors(context.get(), subject.backend()));
        if (buffer == nullptr) throw Failure("no buffer for a graph");
        const std::vector<float> ones(values, 1.0F);
        ggml_backend_tensor_set(added, ones.data(), 0, sizeof(float) * values);
        begin_with(1.0F);
    }

    // What is read is on the host: no graph takes it along.
    void begin_with(float number) {
        std::vector<float> numbers(values, number);
        ggml_backend_tensor_set(first, numbers.data(), 0, sizeof(float) * values);
        ggml_backend_tensor_get(first, numbers.data(), 0, sizeof(float) * values);
    }

    void compute(Subject &subject) {
        if (ggml_backend_graph_compute(subject.backend(), graph) != GGML_STATUS_SUCCESS) throw Failure("a graph was not computed");
    }

    void check(size_t nodes) {
        std::vector<float> result(values);
        ggml_backend_tensor_get(ggml_graph_node(graph, -1), result.data(), 0, sizeof(float) * values);
        if (result != std::vector<float>(values, static_cast<float>(nodes + 2))) throw Failure("a graph's result is wrong");
    }
};

} // namespace

void graph(Subject &subject, const Request &request, Row &row) {
    const size_t nodes = request.number("nodes", 1);
    Chain chain(subject, nodes);
    auto once = [&] { chain.compute(subject); };
    const size_t warm = request.number("warm", 1, 0);
    for (size_t left = warm; left > 0; --left) once();
    chain.begin_with(2.0F); // or the result would be there already, whatever those that are timed do
    Timed made = timed(request.number("rounds", 10), once);
    made.calls += warm;
    row.samples(made).number("nodes", nodes);
    chain.check(nodes);
}

void token(Subject &subject, const Request &request, Row &row) {
    TokenModel model(subject, request.number("rebuild", 0, 0) != 0);
    row.samples(timed_warm(request.number("warm", 2, 0), request.number("rounds", 10), [&] { model.next_token(); }));
    row.number("nodes", static_cast<uint64_t>(model.nodes())).number("splits", static_cast<uint64_t>(model.splits()));
    row.text("digest", model.digest());
}

} // namespace apir::bench
