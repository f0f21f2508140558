// Graphs sent once and run again by number: what is sent, that results are bit for bit those without it, and that a graph which
// is not the same is never taken for it, nor where what it was encoded to is sent again.
//
// Usage: test-guest-graph-ids HOST_LIBRARY GGML_BACKEND_LIBRARY
#include "extension_run.hpp"
#include "model_graph.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;
using apir::test::CacheWrite;
using apir::test::ModelGraph;

namespace {

using Logits = std::vector<std::vector<float>>;

Logits tokens(ModelGraph &model, int count) {
    Logits logits;
    for (int32_t i = 0; i < count; ++i) logits.push_back(model.next((7 * i + 3) % 96, i));
    return logits;
}

uint64_t graph_bytes(const std::vector<CallRecord> &records) {
    uint64_t bytes = 0;
    for (const CallRecord &record : records) {
        auto call = static_cast<Call>(record.call);
        bool graph = call == Call::graph_run || call == Call::graph_patch || call == Call::graph_keep || call == Call::backend_graph_compute;
        if (graph) bytes += record.bytes_out;
    }
    return bytes;
}

// Calls and bytes of a token in the middle of a text, and its logits.
void model(CacheWrite way, const char *name, uint64_t most_with, uint64_t least_without) {
    Logits expected;
    for (const char *extensions : {"none", "graph_ids", "batch", "asynchronous", "graph_ids,batch", "-asynchronous", "all"}) {
        Run run(extensions);
        ModelGraph model(run.backend.get(), way);
        expect(model.usable(), "the model's weights");
        Logits logits = tokens(model, 6);
        expect(model.nodes() > 650 && model.nodes() < 900, "the model has " + std::to_string(model.nodes()) + " nodes");
        run.records.fresh();
        logits.push_back(model.next(11, 6));
        std::vector<CallRecord> token = run.records.fresh();
        Sent sent = sum(token);
        uint64_t bytes = graph_bytes(token);
        std::printf("%s, %-15s: %zu calls, %llu bytes per token, %llu of them for a graph of %d nodes\n", name, extensions, sent.calls,
                    static_cast<unsigned long long>(sent.bytes), static_cast<unsigned long long>(bytes), model.nodes());
        bool with = run.registry->session().has(Extension::graph_ids);
        bool batched = run.registry->session().has(Extension::batch);
        expect(sent.calls == (batched ? 2 : way == CacheWrite::rows ? 6 : 5), std::string(name) + ": calls per token, " + extensions);
        uint64_t along = batched ? 4 * 512 : 0; // writes that go along with it
        expect(with ? bytes <= most_with + along : bytes >= least_without, std::string(name) + ": bytes of a repeated graph, " + extensions);
        expect(!logits.back().empty(), "a token");
        if (expected.empty()) expected = logits;
        expect(logits == expected, std::string(name) + ": logits differ with extensions " + extensions);
    }
}

void never_a_stale_graph(const char *path, const char *extensions) {
    Run run(extensions, path);
    const bool with = run.registry->session().has(Extension::graph_ids);
    auto calls = [with](int whole, int by_number) {
        using Calls = std::map<Call, int>;
        return with ? Calls{{Call::graph_keep, whole}, {Call::graph_run, by_number}} : Calls{{Call::backend_graph_compute, whole + by_number}};
    };
    Buffer buffer = run.buffer(4096);
    Scaled scaled(run, buffer.get());
    run.records.fresh();
    expect(scaled.computed() == 32, "the first time");
    expect(scaled.computed() == 32, "the second time");
    expect_calls(run, calls(1, 1), "once whole, once by number");

    run.records.fresh();
    Scaled moved(run, buffer.get());
    moved.computed();
    expect_calls(run, calls(0, 1), "the graph, now of other tensors");

    float three = 3;
    std::memcpy(scaled.output->op_params, &three, sizeof three);
    expect(scaled.computed() == 48, "another parameter at the same addresses");
    scaled.output->flags &= ~GGML_TENSOR_FLAG_COMPUTE;
    std::memcpy(scaled.output->op_params, "\0\0\0\0", 4);
    expect(scaled.computed() == 48, "a node that is not to be computed is not");
    scaled.output->flags |= GGML_TENSOR_FLAG_COMPUTE;
    expect(scaled.computed() == 0, "now it is");
    std::memcpy(scaled.output->op_params, &three, sizeof three);
    scaled.output->data = static_cast<uint8_t *>(scaled.output->data) + 128;
    expect(scaled.computed() == 48, "another place of the result");
}

// A buffer that is freed takes its graphs along; what comes to lie at its address is another buffer.
void freed_buffers(const char *path, const char *extensions) {
    Run run(extensions, path);
    ggml_backend_buffer_t first = ggml_backend_buft_alloc_buffer(run.buft(), 4096);
    Scaled scaled(run, first);
    scaled.computed();
    scaled.computed();
    for (int round = 0; round < 20; ++round) {
        ggml_backend_buffer_free(first);
        first = ggml_backend_buft_alloc_buffer(run.buft(), 4096);
        auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(first));
        for (ggml_tensor *tensor : {scaled.input, scaled.output}) {
            tensor->buffer = nullptr;
            tensor->data = nullptr;
            ggml_backend_tensor_alloc(first, tensor, base + (tensor == scaled.output ? 256 : 0));
        }
        std::vector<float> numbers(16, static_cast<float>(round));
        ggml_backend_tensor_set(scaled.input, numbers.data(), 0, 64);
        expect(scaled.computed() == 2 * static_cast<float>(round), "a graph in a buffer that took another's place");
    }
    ggml_backend_buffer_free(first);
}

// More graphs than the cache has, in turn; streams that end with graphs kept.
void many_graphs(const char *extensions) {
    Run run(extensions);
    Buffer buffer = run.buffer(1 << 16);
    std::vector<std::unique_ptr<Scaled>> graphs;
    for (size_t i = 0; i < 40; ++i) graphs.push_back(std::make_unique<Scaled>(run, buffer.get(), 256 * (i + 1)));
    for (int round = 0; round < 3; ++round)
        for (auto &graph : graphs) expect(graph->computed() == 32, "one of many graphs");
    for (int i = 0; i < 200; ++i) {
        Backend own{ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free};
        graphs[0]->backend = own.get();
        expect(graphs[0]->computed() == 32, "a stream of its own");
    }
    run.records.fresh();
    graphs[1]->computed();
    graphs[1]->computed();
    const bool with = run.registry->session().has(Extension::graph_ids);
    expect_calls(run, {{with ? Call::graph_run : Call::backend_graph_compute, with ? 1 : 2}}, "streams that ended have left no graph behind");
    expect(with || run.registry->devices[0]->remote.load()->take_dropped_graphs().empty(), "numbers to tell of to a host that keeps no graphs");
}

// A stream of its own, and graphs that were computed in it: in a buffer for each, so that none is similar to another.
struct ManyGraphs {
    explicit ManyGraphs(Run &run) : run(run), backend(ggml_backend_dev_init(run.registry->device(), nullptr), ggml_backend_free) {}

    void add(size_t count) {
        for (size_t i = 0; i < count; ++i) {
            buffers.push_back(run.buffer(4096));
            graphs.push_back(std::make_unique<Scaled>(run, buffers.back().get()));
            graphs.back()->backend = backend.get();
            expect(graphs.back()->computed() == 32, "a graph");
        }
    }

    void compute() {
        for (auto &graph : graphs) expect(graph->computed() == 32, "a graph once more");
    }

    Run &run;
    Backend backend;
    std::vector<Buffer> buffers;
    std::vector<std::unique_ptr<Scaled>> graphs;
};

void graphs_in_turns() {
    Run run("all");
    ManyGraphs many(run);
    many.add(20);
    run.records.fresh();
    many.compute();
    expect_calls(run, {{Call::graph_run, 20}, {Call::graph_keep, 0}, {Call::graph_patch, 0}}, "20 graphs in turns, the second time");
}

// The host keeps 64 graphs for all streams together.
void streams_leave_room_for_others() {
    Run run("all");
    std::vector<std::unique_ptr<ManyGraphs>> streams;
    for (int i = 0; i < 5; ++i) {
        streams.push_back(std::make_unique<ManyGraphs>(run));
        streams.back()->add(32);
    }
    run.records.fresh();
    streams.back()->graphs.back()->computed();
    expect_calls(run, {{Call::graph_run, 1}}, "a graph of the fifth stream with many graphs");
}

void stream_makes_room_of_its_own() {
    Run run("all");
    std::vector<std::unique_ptr<ManyGraphs>> streams;
    for (int i = 0; i < 16; ++i) streams.push_back(std::make_unique<ManyGraphs>(run));
    for (auto &stream : streams) stream->add(4);
    run.records.fresh();
    streams[0]->add(1);
    for (int i = 0; i < 2; ++i) streams[0]->graphs.back()->computed();
    expect_calls(run, {{Call::graph_keep, 2}, {Call::graph_run, 1}}, "one more graph than the host has room for, three times");
}

// Several tensors per node: more than there is room for when a graph's first one is met.
void many_leaves() {
    constexpr size_t sums = 150;
    Run run("none");
    Context context = guest::test::context();
    ggml_cgraph *graph = ggml_new_graph_custom(context.get(), sums, false);
    std::vector<ggml_tensor *> leaves;
    std::vector<ggml_tensor *> nodes;
    for (size_t i = 0; i < sums; ++i) {
        for (int each = 0; each < 2; ++each) leaves.push_back(ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 2));
        ggml_tensor *half = ggml_view_1d(context.get(), leaves[2 * i], 1, sizeof(float));
        nodes.push_back(ggml_add(context.get(), half, ggml_view_1d(context.get(), leaves[2 * i + 1], 1, 0)));
        nodes.back()->flags |= GGML_TENSOR_FLAG_COMPUTE;
        ggml_graph_add_node(graph, nodes.back());
    }
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(context.get(), run.buft()), ggml_backend_buffer_free};
    for (size_t i = 0; i < leaves.size(); ++i) {
        const float values[] = {static_cast<float>(3 * i), static_cast<float>(7 * i)};
        ggml_backend_tensor_set(leaves[i], values, 0, sizeof values);
    }
    expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "a graph of many leaves");
    for (size_t i = 0; i < sums; ++i) {
        float sum = 0;
        ggml_backend_tensor_get(nodes[i], &sum, 0, sizeof sum);
        expect(sum == static_cast<float>(7 * 2 * i + 3 * (2 * i + 1)), "sum " + std::to_string(i) + " is " + std::to_string(sum));
    }
}

// A graph of one node, computed before or fed by nodes of other graphs, as a scheduler's parts are.
ggml_cgraph *alone(ggml_context *context, ggml_tensor *node) {
    ggml_cgraph *graph = ggml_new_graph_custom(context, 8, false);
    ggml_graph_add_node(graph, node);
    node->flags |= GGML_TENSOR_FLAG_COMPUTE;
    return graph;
}

// What lies further up than a node's sources is no part of its graph: not its bytes, not its shapes.
void parts_without_ancestors() {
    Run run("-graph_ids");
    Context context = guest::test::context();
    ggml_tensor *input = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 16);
    std::vector<ggml_tensor *> chain{input};
    for (int i = 0; i < 50; ++i) chain.push_back(ggml_scale(context.get(), chain.back(), 1.0F));
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(context.get(), run.buft()), ggml_backend_buffer_free};
    std::vector<float> numbers(16, 3.0F);
    ggml_backend_tensor_set(input, numbers.data(), 0, 64);
    auto bytes_of = [&](ggml_tensor *node) {
        run.records.fresh();
        expect(ggml_backend_graph_compute(run.backend.get(), alone(context.get(), node)) == GGML_STATUS_SUCCESS, "a node alone");
        return graph_bytes(run.records.fresh());
    };
    bytes_of(chain[1]); // the write goes along with it
    const uint64_t first = bytes_of(chain[1]);
    for (size_t i = 2; i < chain.size(); ++i) {
        const uint64_t bytes = bytes_of(chain[i]);
        expect(bytes == first, "node " + std::to_string(i) + " of a chain, alone, takes " + std::to_string(bytes) + " bytes, the first " +
                                   std::to_string(first));
    }
    ggml_backend_tensor_get(chain.back(), numbers.data(), 0, 64);
    expect(numbers[15] == 3, "a chain in parts");
}

// Strides beyond 32 bits, of tensors of which a graph sees a part or nothing.
void parts_of_wide_shapes() {
    constexpr size_t beyond = size_t{1} << 33;
    Run run("all");
    Context context = guest::test::context();
    ggml_tensor *input = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 16);
    ggml_tensor *wide = ggml_view_4d(context.get(), input, 16, 1, 1, 1, 64, 64, beyond, 0);
    ggml_tensor *copy = ggml_cont(context.get(), wide);
    ggml_tensor *behind_copy = ggml_scale(context.get(), copy, 2.0F);
    ggml_tensor *owner = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 16);
    owner->nb[3] = beyond;
    ggml_tensor *part_of_owner = ggml_scale(context.get(), ggml_view_1d(context.get(), owner, 8, 32), 5.0F);
    Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(context.get(), run.buft()), ggml_backend_buffer_free};
    std::vector<float> numbers(16, 3.0F);
    ggml_backend_tensor_set(input, numbers.data(), 0, 64);
    ggml_backend_tensor_set(owner, numbers.data(), 0, 64);
    for (ggml_tensor *node : {copy, behind_copy, part_of_owner})
        expect(ggml_backend_graph_compute(run.backend.get(), alone(context.get(), node)) == GGML_STATUS_SUCCESS,
               std::string(ggml_op_name(node->op)) + " by itself, with a stride beyond 32 bits further up");
    float results[2] = {};
    ggml_backend_tensor_get(behind_copy, &results[0], 60, 4);
    ggml_backend_tensor_get(part_of_owner, &results[1], 28, 4);
    expect(results[0] == 6 && results[1] == 15, "what parts of a graph have computed");
}

} // namespace

int main(int count, char **arguments) {
    if (!use_libraries(count, arguments)) return 2;
    model(CacheWrite::rows, "rows", 1024, 200000);
    model(CacheWrite::view, "view", 40000, 200000);
    for (const char *extensions : {"all", "none", "asynchronous"}) {
        for (const char *path : {"copied", "shared"}) {
            never_a_stale_graph(path, extensions);
            freed_buffers(path, extensions);
        }
        many_graphs(extensions);
    }
    graphs_in_turns();
    streams_leave_room_for_others();
    stream_makes_room_of_its_own();
    many_leaves();
    parts_without_ancestors();
    parts_of_wide_shapes();
    return failures();
}
