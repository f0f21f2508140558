// Graphs: what is computed, and all that must be refused before ggml sees it.
#include <ggml.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>

#include "host_loopback.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;

// x (8 floats at 0), y = view of x's second half, z = scale(y, 3), s = z + z.
struct Example {
    std::unique_ptr<Loopback> host = cpu_loopback();
    uint64_t buffer = new_buffer(*host, 4096);
    Graph graph;

    enum { x, y, z, s };

    Example() {
        graph.tensors = {f32_tensor(11, buffer, 0, 8), f32_tensor(12, buffer, 16, 4), f32_tensor(13, buffer, 64, 4),
                         f32_tensor(14, buffer, 128, 4)};
        TensorRecord *t = graph.tensors.data();
        t[y].op = GGML_OP_VIEW;
        t[y].src[0] = 11;
        t[y].view_src = 11;
        t[y].view_offs = 16;
        t[z].op = GGML_OP_SCALE;
        t[z].src[0] = 12;
        float factors[2] = {3, 0};
        std::memcpy(t[z].op_params, factors, sizeof factors);
        t[s].op = GGML_OP_ADD;
        t[s].src[0] = t[s].src[1] = 13;
        for (int i : {y, z, s}) t[i].flags = static_cast<int32_t>(tensor_flag_compute);
        graph.nodes = {12, 13, 14};
        set(graph.tensors[x], {0, 1, 2, 3, 4, 5, 6, 7});
    }

    void set(const TensorRecord &tensor, const std::vector<float> &values) {
        std::memcpy(host->resource(2).data(), values.data(), values.size() * sizeof(float));
        expect_equal(
            host->code(Call::buffer_set_tensor, BufferSetTensorRequest{buffer, tensor, 2, 0, values.size() * sizeof(float)}), ok,
            "set");
    }

    std::vector<float> get(const TensorRecord &tensor, size_t count) {
        expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, tensor, 2, 0, count * sizeof(float)}), ok,
                     "get");
        std::vector<float> values(count);
        std::memcpy(values.data(), host->resource(2).data(), count * sizeof(float));
        return values;
    }

    uint32_t compute(const std::vector<uint8_t> &bytes, int32_t *status = nullptr) {
        std::copy(bytes.begin(), bytes.end(), host->resource(2).data());
        std::vector<uint8_t> reply;
        uint32_t code = host->raw(22, Loopback::encoded(BackendGraphComputeRequest{2, bytes.size()}), &reply);
        if (code == ok && status != nullptr) std::memcpy(status, reply.data(), sizeof *status);
        return code;
    }

    // The graph as it is now still computes the right numbers.
    void expect_works(const char *when) {
        int32_t status = 99;
        expect_equal(compute(Loopback::encoded(graph), &status), ok, when);
        expect_equal(status, 0, when);
        std::vector<float> sum = get(graph.tensors[s], 4);
        expect(sum == std::vector<float>{24, 30, 36, 42}, std::string("wrong sum ") + when);
    }
};

// As ggml_backend_graph_copy leaves a cast: without itself as its second source.
void computes_a_copied_cast() {
    Example example;
    TensorRecord &cast = example.graph.tensors[Example::z];
    cast.op = GGML_OP_CPY;
    std::memset(cast.op_params, 0, sizeof cast.op_params);
    for (uint64_t second : {uint64_t{0}, cast.id}) {
        cast.src[1] = second;
        int32_t status = 99;
        expect_equal(example.compute(Loopback::encoded(example.graph), &status), ok, "a cast");
        expect_equal(status, 0, "status");
        expect(example.get(example.graph.tensors[Example::s], 4) == std::vector<float>{8, 10, 12, 14}, "its double");
    }
    cast.src[0] = 0;
    expect_equal(example.compute(Loopback::encoded(example.graph)), failed, "a cast of nothing");
}

void computes() {
    Example example;
    example.expect_works("at first");
    example.expect_works("again");
    Graph empty;
    int32_t status = 99;
    expect_equal(example.compute(Loopback::encoded(empty), &status), ok, "no nodes");
    expect_equal(status, 0, "no nodes");
    // A node that is not to be computed is left alone, without an error.
    example.set(example.graph.tensors[Example::s], {1, 1, 1, 1});
    Graph idle = example.graph;
    for (TensorRecord &tensor : idle.tensors) tensor.flags = 0;
    expect_equal(example.compute(Loopback::encoded(idle), &status), ok, "no flags");
    expect(example.get(example.graph.tensors[Example::s], 4) == std::vector<float>{1, 1, 1, 1}, "flags are carried");
}

void nodes_of_an_earlier_graph() {
    Example example;
    example.expect_works("at first");
    // As a scheduler splits graphs: z was computed before and is listed as a source only.
    Graph rest = example.graph;
    rest.nodes = {14};
    example.set(example.graph.tensors[Example::z], {1, 2, 3, 4});
    expect_equal(example.compute(Loopback::encoded(rest)), ok, "the second half alone");
    expect(example.get(example.graph.tensors[Example::s], 4) == std::vector<float>{2, 4, 6, 8}, "z is not computed again");
}

// As programs measure an operation: in one graph, many times. Here z is made in place of what it is made of.
void nodes_that_come_again() {
    Example example;
    Graph again = example.graph;
    TensorRecord &z = again.tensors[Example::z];
    TensorRecord &y = again.tensors[Example::y];
    z = f32_tensor(13, example.buffer, 16, 4);
    z.op = GGML_OP_SCALE, z.src[0] = 12, z.view_src = 11, z.view_offs = 16, z.flags = y.flags;
    std::memcpy(z.op_params, example.graph.tensors[Example::z].op_params, sizeof z.op_params);
    again.nodes = {12, 13, 13, 13, 14, 14};
    int32_t status = 99;
    expect_equal(example.compute(Loopback::encoded(again), &status), ok, "nodes again");
    expect_equal(status, 0, "nodes again");
    expect(example.get(again.tensors[Example::s], 4) == std::vector<float>{216, 270, 324, 378}, "three times by 3, and doubled once");
    again.nodes = {12, 14, 13, 14};
    expect_equal(example.compute(Loopback::encoded(again)), failed, "a node before its source, and again behind it");
}

// After a small one, and told by the op that it ends with.
void many_nodes() {
    char note[16] = "";
    auto *note_op = reinterpret_cast<void (*)(uint32_t, char *, size_t)>(dlsym(dlopen(HOST_LIBRARY, RTLD_NOW | RTLD_LOCAL), "apir_backend_note_op"));
    Example example;
    note_op(1, note, sizeof note);
    example.expect_works("at first");
    expect(std::string(note) == "ADD", std::string("what it ends with: ") + note);
    Graph many = example.graph;
    many.nodes.insert(many.nodes.end(), 5000, 14);
    int32_t status = 99;
    expect_equal(example.compute(Loopback::encoded(many), &status), ok, "thousands of nodes");
    expect_equal(status, 0, "thousands of nodes");
    constexpr uint64_t most = uint64_t{64} << 20;
    example.host->add(5, most + 1);
    expect_equal(example.host->code(Call::backend_graph_compute, BackendGraphComputeRequest{5, most + 1}), failed, "more bytes than a graph may have");
}

// Whichever of its buffers is freed, and in whatever order it names them.
void kept_graphs_of_several_buffers() {
    for (size_t freed : {0, 1, 2}) {
        Example example;
        const uint64_t buffers[] = {example.buffer, new_buffer(*example.host, 4096), new_buffer(*example.host, 4096)};
        Graph graph = example.graph;
        for (int i : {Example::x, Example::y}) graph.tensors[i].buffer = buffers[2];
        graph.tensors[Example::z].buffer = buffers[1];
        graph.tensors[Example::s].buffer = buffers[0];
        const std::vector<uint8_t> bytes = Loopback::encoded(graph);
        std::copy(bytes.begin(), bytes.end(), example.host->resource(2).data());
        const auto kept = example.host->call<GraphKeepReply>(Call::graph_keep, GraphKeepRequest{2, bytes.size(), false, {}});
        auto known = [&] { return example.host->call<GraphRunReply>(Call::graph_run, GraphRunRequest{kept.graph}).known; };
        expect(kept.graph != 0 && known(), "a kept graph");
        expect_equal(example.host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{buffers[freed]}), ok, "free");
        expect(!known(), "a graph whose buffer " + std::to_string(freed) + " is gone");
    }
}

void truncated() {
    Example example;
    std::vector<uint8_t> bytes = Loopback::encoded(example.graph);
    for (size_t size = 0; size < bytes.size(); ++size)
        expect_equal(example.compute({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)}), failed,
                     "graph of " + std::to_string(size) + " bytes");
    expect_equal(example.host->code(Call::backend_graph_compute, BackendGraphComputeRequest{2, UINT64_MAX}), failed,
                 "more than the resource");
    expect_equal(example.host->code(Call::backend_graph_compute, BackendGraphComputeRequest{99, 4}), failed, "no such resource");
    example.expect_works("after truncations");
}

// 64 rows; with a place in one place of its buffer.
void spread(TensorRecord &tensor, uint64_t place = UINT64_MAX) {
    tensor.ne[1] = 64;
    tensor.nb[2] = tensor.nb[3] = 64 * tensor.nb[1];
    if (place == UINT64_MAX) return;
    tensor.nb[1] = tensor.nb[2] = tensor.nb[3] = 0;
    tensor.data = place;
}
// Two rows of one number over and over, that far apart.
void repeat(TensorRecord &tensor, uint32_t apart) {
    tensor.nb[0] = 0;
    tensor.ne[1] = 2;
    tensor.nb[1] = apart;
    tensor.nb[2] = tensor.nb[3] = 2 * apart;
    tensor.data = tensor.view_src = tensor.view_offs = 0;
}

struct Malformation {
    const char *what;
    std::function<void(Graph &)> spoil;
};

void malformed() {
    using G = Graph &;
    enum { x, y, z, s };
    const std::vector<Malformation> all = {
        {"an id twice", [](G g) { g.tensors[z].id = 11; }},
        {"an id of 0", [](G g) { g.tensors[z].id = 0; }},
        {"a node that is not there", [](G g) { g.nodes[1] = 77; }},
        {"a node of 0", [](G g) { g.nodes[1] = 0; }},
        {"a source that is not there", [](G g) { g.tensors[s].src[1] = 77; }},
        {"a node that is its own source", [](G g) { g.tensors[s].src[1] = 14; }},
        {"a cycle", [](G g) { g.tensors[z].src[0] = 14; }},
        {"nodes in the wrong order", [](G g) { std::swap(g.nodes[1], g.nodes[2]); }},
        {"a missing source", [](G g) { g.tensors[s].src[1] = 0; }},
        {"no sources at all", [](G g) { g.tensors[z].src[0] = 0; }},
        {"a view of nothing", [](G g) { g.tensors[y].view_src = 77; }},
        {"a view of itself", [](G g) { g.tensors[y].view_src = 12; }},
        {"a view of a view", [](G g) { g.tensors[z].view_src = 12; }},
        {"a view that is elsewhere", [](G g) { g.tensors[y].view_offs = 0; }},
        {"a view offset that wraps", [](G g) { g.tensors[y].view_offs = UINT64_MAX - 15; }},
        {"a buffer that is not there", [](G g) { g.tensors[z].buffer = 1; }},
        {"a result without memory", [](G g) { g.tensors[z].buffer = 0; }},
        {"a source without memory", [](G g) { g.tensors[x].buffer = g.tensors[y].buffer = 0; }},
        {"a result beyond the buffer", [](G g) { g.tensors[s].data = 4096 - 12; }},
        {"a result far beyond", [](G g) { g.tensors[s].data = UINT64_MAX - 3; }},
        {"a source that reaches beyond", [](G g) { g.tensors[x].nb[1] = 1 << 20, g.tensors[x].ne[1] = 2; }},
        {"a result with strides of 0 that is too large", [](G g) { g.tensors[s].ne[1] = 4096, g.tensors[s].nb[1] = 0; }},
        {"a result that is larger without its strides", [](G g) { spread(g.tensors[z], 4096 - 16), spread(g.tensors[y]), g.tensors[z].op = GGML_OP_SQR, g.tensors[y].view_src = 0, g.nodes = {13}; }},
        {"a source that is larger without its strides", [](G g) { spread(g.tensors[z]), spread(g.tensors[y], 4096 - 16), g.tensors[z].op = GGML_OP_SQR, g.tensors[y].view_src = 0, g.nodes = {13}; }},
        {"a last row that ends behind the buffer", [](G g) { repeat(g.tensors[y], 4084), repeat(g.tensors[z], 16), g.tensors[z].op = GGML_OP_CONT, g.tensors[z].nb[0] = 4, g.nodes = {13}; }},
        {"an unknown type", [](G g) { g.tensors[z].type = 43; }},
        {"a removed type", [](G g) { g.tensors[z].type = 4; }},
        {"an unknown op", [](G g) { g.tensors[z].op = GGML_OP_COUNT; }},
        {"a huge op", [](G g) { g.tensors[z].op = UINT32_MAX; }},
        {"a callback op", [](G g) { g.tensors[z].op = GGML_OP_MAP_CUSTOM1; }},
        {"another callback op", [](G g) { g.tensors[z].op = GGML_OP_CUSTOM; }},
        {"an unknown unary op", [](G g) { g.tensors[z].op = GGML_OP_UNARY, g.tensors[z].op_params[0] = -1; }},
        {"an unknown gated op", [](G g) { g.tensors[z].op = GGML_OP_GLU, g.tensors[z].op_params[0] = 1000; }},
        {"a sum of nothing", [](G g) { g.tensors[x].ne[0] = 0, g.tensors[s].src[1] = 11; }},
        {"dimensions that overflow", [](G g) { std::fill(std::begin(g.tensors[z].ne), std::end(g.tensors[z].ne), 0x80000000u); }},
    };
    Example example;
    for (const Malformation &each : all) {
        Graph graph = example.graph;
        each.spoil(graph);
        expect_equal(example.compute(Loopback::encoded(graph)), failed, each.what);
    }
    example.expect_works("after malformed graphs");
}

void counts_that_lie() {
    Example example;
    std::vector<uint8_t> bytes = Loopback::encoded(example.graph);
    for (size_t at : {size_t{0}, size_t{4 + 3 * 8}}) {
        for (uint32_t count : {0xffffffffu, 0x80000000u, 1000000u}) {
            std::vector<uint8_t> lying = bytes;
            std::memcpy(lying.data() + at, &count, sizeof count);
            expect_equal(example.compute(lying), failed, "a count of " + std::to_string(count));
        }
    }
    example.expect_works("after lying counts");
}

long resident_kib() {
    std::ifstream status("/proc/self/statm");
    long total = 0;
    long resident = 0;
    status >> total >> resident;
    return resident * sysconf(_SC_PAGESIZE) / 1024;
}

void no_leak() {
    Example example;
    std::vector<uint8_t> bytes = Loopback::encoded(example.graph);
    auto rounds = [&](int count) {
        for (int i = 0; i < count; ++i) {
            std::memcpy(example.host->resource(2).data(), bytes.data(), bytes.size());
            example.host->raw(22, Loopback::encoded(BackendGraphComputeRequest{2, bytes.size()}));
            example.host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{new_buffer(*example.host, 64)});
        }
    };
    rounds(500);
    long before = resident_kib();
    constexpr int count = 20000;
    rounds(count);
    [[maybe_unused]] long grown = resident_kib() - before;
    // Some bytes for each would make a megabyte. A sanitizer keeps freed memory for a while and is not measured.
#ifndef APIR_SANITIZED
    expect(grown < 256, "memory grew by " + std::to_string(grown) + " KiB over " + std::to_string(count) + " graphs and buffers");
#endif
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"computes", computes},
                      {"copied cast", computes_a_copied_cast},
                      {"nodes_of_an_earlier_graph", nodes_of_an_earlier_graph},
                      {"nodes_that_come_again", nodes_that_come_again},
                      {"many_nodes", many_nodes},
                      {"kept_graphs_of_several_buffers", kept_graphs_of_several_buffers},
                      {"truncated", truncated},
                      {"malformed", malformed},
                      {"counts_that_lie", counts_that_lie},
                      {"no_leak", no_leak}},
                     count > 1 ? values[1] : nullptr);
}
