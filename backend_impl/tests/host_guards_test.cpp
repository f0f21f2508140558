// What only the running of a graph shows: data that says where a kernel goes, and how long it takes.
#include <ggml.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "host_loopback.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;
constexpr int32_t computed = static_cast<int32_t>(GraphStatus::ok);

// A buffer, and graphs in it.
struct World {
    explicit World(std::map<std::string, std::string> more = {}) {
        std::map<std::string, std::string> config = cpu_config();
        config.merge(more);
        host = std::make_unique<Loopback>(1, config);
        expect_equal(host->initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
        buffer = new_buffer(*host, size);
    }

    TensorRecord tensor(uint64_t data, uint32_t type, uint32_t n0, uint32_t n1 = 1) {
        TensorRecord made = f32_tensor(++last_id, buffer, data, n0, n1);
        made.type = type;
        return made;
    }
    TensorRecord node(ggml_op op, TensorRecord made, const std::vector<uint64_t> &sources) {
        made.op = op;
        made.flags = static_cast<int32_t>(tensor_flag_compute);
        std::copy(sources.begin(), sources.end(), made.src);
        return made;
    }
    template <typename Number> void set(const TensorRecord &to, const std::vector<Number> &values) {
        std::memcpy(host->resource(2).data(), values.data(), values.size() * sizeof(Number));
        expect_equal(host->code(Call::buffer_set_tensor, BufferSetTensorRequest{buffer, to, 2, 0, values.size() * sizeof(Number)}), ok, "set");
    }
    std::vector<float> get(const TensorRecord &from, size_t count) {
        expect_equal(host->code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, from, 2, 0, count * sizeof(float)}), ok, "get");
        std::vector<float> values(count);
        std::memcpy(values.data(), host->resource(2).data(), count * sizeof(float));
        return values;
    }
    uint32_t compute(const Graph &graph, int32_t *status = nullptr) {
        constexpr uint32_t resource = 4; // of its own: some graphs are large
        std::vector<uint8_t> bytes(64 + graph.nodes.size() * sizeof(uint64_t) + graph.tensors.size() * 512);
        Writer writer(bytes.data(), bytes.size());
        write(writer, graph);
        host->add(resource, writer.size());
        std::copy_n(bytes.begin(), writer.size(), host->resource(resource).data());
        std::vector<uint8_t> reply;
        uint32_t code = host->raw(22, Loopback::encoded(BackendGraphComputeRequest{resource, writer.size()}), &reply);
        if (code == ok && status != nullptr) std::memcpy(status, reply.data(), sizeof *status);
        return code;
    }

    static constexpr uint64_t size = 1 << 20;
    std::unique_ptr<Loopback> host;
    uint64_t buffer = 0;
    uint64_t last_id = 0;
};

// Rows of a table by numbers: from a leaf, or as another node of the same graph has made them.
struct Rows {
    explicit Rows(bool made_here) {
        table = world.tensor(0, GGML_TYPE_F32, 2, 3);
        leaf = world.tensor(64, GGML_TYPE_I32, 4);
        TensorRecord numbers = leaf;
        graph.tensors = {table, leaf};
        if (made_here) {
            numbers = world.node(GGML_OP_CPY, world.tensor(128, GGML_TYPE_I32, 4), {leaf.id, world.last_id});
            graph.tensors.push_back(numbers);
            graph.nodes.push_back(numbers.id);
        }
        rows = world.node(GGML_OP_GET_ROWS, world.tensor(192, GGML_TYPE_F32, 2, 4), {table.id, numbers.id});
        graph.tensors.push_back(rows);
        graph.nodes.push_back(rows.id);
        world.set<float>(table, {0, 1, 10, 11, 20, 21});
    }

    World world;
    Graph graph;
    TensorRecord table, leaf, rows;
};

void indices() {
    for (bool made_here : {false, true}) {
        std::string where = made_here ? " made by the graph" : " of a leaf";
        Rows rows(made_here);
        for (int again = 0; again < 2; ++again) {
            rows.world.set<int32_t>(rows.leaf, {2, 0, 2, 1});
            int32_t status = 99;
            expect_equal(rows.world.compute(rows.graph, &status), ok, "indices" + where);
            expect_equal(status, computed, "indices" + where);
            expect(rows.world.get(rows.rows, 8) == std::vector<float>{20, 21, 0, 1, 20, 21, 10, 11}, "rows by indices" + where);
            for (int32_t bad : {3, -1, INT32_MAX, INT32_MIN}) {
                rows.world.set<int32_t>(rows.leaf, {0, 1, 2, bad});
                expect_equal(rows.world.compute(rows.graph), failed, "index " + std::to_string(bad) + where);
            }
        }
    }
}

// Sanitizers keep what is freed, to tell who uses it afterwards.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool frees_memory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool frees_memory = false;
#else
constexpr bool frees_memory = true;
#endif
#else
constexpr bool frees_memory = true;
#endif

long resident_mebibytes() {
    long pages = 0, resident = 0;
    std::FILE *file = std::fopen("/proc/self/statm", "r");
    expect(file != nullptr && std::fscanf(file, "%ld %ld", &pages, &resident) == 2, "the process's memory is told");
    if (file != nullptr) std::fclose(file);
    return resident * sysconf(_SC_PAGESIZE) >> 20;
}

// A node that is listed again takes eight bytes of the guest's, and the guard of each a copy of a tensor.
void guarded_again_and_again() {
    Rows rows(false);
    rows.world.set<int32_t>(rows.leaf, {2, 0, 2, 1});
    Graph many = rows.graph;
    many.nodes.assign(100'000, rows.rows.id);
    const long before = resident_mebibytes();
    expect_equal(rows.world.compute(many), ok, "as many guarded nodes as a graph may have");
    expect(!frees_memory || resident_mebibytes() - before < 32, "their memory is given back");
    many.nodes.assign(2'000'000, rows.rows.id);
    expect_equal(rows.world.compute(many), failed, "more guarded nodes than a graph may have");
    expect_equal(rows.world.compute(rows.graph), ok, "the next graph");
    expect(rows.world.get(rows.rows, 8) == std::vector<float>{20, 21, 0, 1, 20, 21, 10, 11}, "the next graph's rows");
}

// Two of three experts, of a row each: which ones is data.
void experts() {
    World world;
    TensorRecord weights = world.tensor(0, GGML_TYPE_F32, 2);
    weights.ne[2] = 3, weights.nb[3] = 24;
    TensorRecord input = world.tensor(64, GGML_TYPE_F32, 2);
    TensorRecord chosen = world.tensor(128, GGML_TYPE_I32, 2);
    TensorRecord products = world.node(GGML_OP_MUL_MAT_ID, world.tensor(192, GGML_TYPE_F32, 1, 2), {weights.id, input.id, chosen.id});
    Graph graph;
    graph.tensors = {weights, input, chosen, products};
    graph.nodes = {products.id};
    world.set<float>(weights, {1, 2, 3, 4, 5, 6});
    world.set<float>(input, {10, 1});
    world.set<int32_t>(chosen, {2, 0});
    expect_equal(world.compute(graph), ok, "experts");
    expect(world.get(products, 2) == std::vector<float>{56, 12}, "the chosen experts' products");
    for (int32_t bad : {3, APIR_GGML_GENERATION > 0 ? -2 : -1, INT32_MAX, INT32_MIN}) {
        world.set<int32_t>(chosen, {1, bad});
        expect_equal(world.compute(graph), failed, "expert " + std::to_string(bad));
    }
}

// What a router does: the best of all, and their rows.
void sorted() {
    World world;
    TensorRecord scores = world.tensor(0, GGML_TYPE_F32, 4);
    TensorRecord table = world.tensor(64, GGML_TYPE_F32, 1, 4);
    TensorRecord order = world.node(GGML_OP_ARGSORT, world.tensor(128, GGML_TYPE_I32, 4), {scores.id});
    order.op_params[0] = GGML_SORT_ORDER_DESC;
    TensorRecord rows = world.node(GGML_OP_GET_ROWS, world.tensor(192, GGML_TYPE_F32, 1, 4), {table.id, order.id});
    Graph graph;
    graph.tensors = {scores, table, order, rows};
    graph.nodes = {order.id, rows.id};
    world.set<float>(table, {0, 10, 20, 30});
    world.set<float>(scores, {1, 4, 2, 3});
    expect_equal(world.compute(graph), ok, "sorted");
    expect(world.get(rows, 4) == std::vector<float>{10, 30, 20, 0}, "rows in order");
    world.set<float>(scores, {1, NAN, 2, 3});
    expect_equal(world.compute(graph), failed, "sorting what is not a number");
}

// A node is computed as often as it is listed: what comes in between takes what it has made before.
void sorted_again() {
    World world;
    TensorRecord scores = world.tensor(0, GGML_TYPE_F32, 4);
    TensorRecord order = world.node(GGML_OP_ARGSORT, world.tensor(128, GGML_TYPE_I32, 4), {scores.id});
    order.op_params[0] = GGML_SORT_ORDER_DESC;
    TensorRecord copy = world.node(GGML_OP_CONT, world.tensor(192, GGML_TYPE_I32, 4), {order.id});
    Graph graph;
    graph.tensors = {scores, order, copy};
    graph.nodes = {order.id, copy.id, order.id};
    world.set<float>(scores, {1, 4, 2, 3});
    expect_equal(world.compute(graph), ok, "sorted again");
    for (const TensorRecord &made : {order, copy}) {
        std::vector<float> bits = world.get(made, 4);
        const int32_t wanted[] = {1, 3, 2, 0};
        expect(std::memcmp(bits.data(), wanted, sizeof wanted) == 0, made.id == copy.id ? "the order's copy" : "the order");
    }
}

// A step of an optimiser also writes to what it is told to keep its moments in: what is sorted behind it is what it has made of them.
void sorted_moments() {
    World world;
    TensorRecord of[5]; // weights, gradients, both moments, parameters
    for (int i = 0; i < 5; ++i) of[i] = world.tensor(static_cast<uint64_t>(i) * 64, GGML_TYPE_F32, i == 4 ? 7 : 4);
    TensorRecord step = of[0];
    step.id = ++world.last_id;
    step = world.node(GGML_OP_OPT_STEP_ADAMW, step, {of[0].id, of[1].id, of[2].id, of[3].id, of[4].id});
    TensorRecord order = world.node(GGML_OP_ARGSORT, world.tensor(512, GGML_TYPE_I32, 4), {of[2].id});
    Graph graph;
    graph.tensors = {of[0], of[1], of[2], of[3], of[4], step, order};
    graph.nodes = {step.id, order.id};
    world.set<float>(of[1], {40, 0, 0, 0});
    world.set<float>(of[2], {1, 2, 3, 4});
    world.set<float>(of[4], {0, 0.5, 0.5, 1, 0, 1, 1});
    expect_equal(world.compute(graph), ok, "a step and a sort");
    std::vector<float> bits = world.get(order, 4);
    const int32_t wanted[] = {1, 2, 3, 0};
    expect(std::memcmp(bits.data(), wanted, sizeof wanted) == 0, "the order of the moments behind the step");
}

// The kernel looks frequencies up for the whole row, of which only a part is turned: behind the last one there is no memory.
void read_behind() {
    World world;
    TensorRecord x = world.tensor(0, GGML_TYPE_F32, 128);
    TensorRecord positions = world.tensor(1024, GGML_TYPE_I32, 1);
    TensorRecord factors = world.tensor(World::size - 64, GGML_TYPE_F32, 16);
    TensorRecord turned = world.node(GGML_OP_ROPE, world.tensor(2048, GGML_TYPE_F32, 128), {x.id, positions.id, factors.id});
    const float scales[] = {10000, 1, 0, 1, 32, 1};
    turned.op_params[1] = 32;
    std::memcpy(turned.op_params + 5, scales, sizeof scales);
    Graph graph;
    graph.tensors = {x, positions, factors, turned};
    graph.nodes = {turned.id};
    std::vector<float> row(128, 1.5f);
    world.set<float>(x, row);
    world.set<int32_t>(positions, {1});
    world.set<float>(factors, std::vector<float>(16, 1));
    expect_equal(world.compute(graph), ok, "frequencies of a part");
    std::vector<float> result = world.get(turned, 128);
    expect(std::fabs(result[0] - 1.5f * (std::cos(1.0f) - std::sin(1.0f))) < 1e-5f, "the first number is turned");
    expect(result[127] == 1.5f, "the last number is as it was");
}

Graph large_product(World &world) {
    TensorRecord a = world.tensor(0, GGML_TYPE_F32, 256, 256);
    TensorRecord product = world.node(GGML_OP_MUL_MAT, world.tensor(1 << 19, GGML_TYPE_F32, 256, 256), {a.id, a.id});
    Graph graph;
    graph.tensors = {a, product};
    graph.nodes = {product.id};
    // Again and again into the same place.
    for (int i = 0; i < 100; ++i) {
        TensorRecord again = product;
        again.id = ++world.last_id;
        graph.tensors.push_back(again);
        graph.nodes.push_back(again.id);
    }
    return graph;
}

void too_much_work() {
    {
        World small({{"ggml.graph_work", "1e9"}});
        expect_equal(small.compute(large_product(small)), failed, "more work than a graph may have");
    }
    World large({{"ggml.graph_work", "1e11"}});
    int32_t status = 99;
    expect_equal(large.compute(large_product(large), &status), ok, "as much work as a graph may have");
    expect_equal(status, computed, "as much work as a graph may have");
}

Graph graph_of(const std::vector<TensorRecord> &sources, const TensorRecord &node) {
    Graph graph;
    graph.tensors = sources;
    graph.tensors.push_back(node);
    graph.nodes = {node.id};
    return graph;
}

constexpr uint32_t side = 256;
constexpr uint64_t square_bytes = side * side * sizeof(float);

// All numbers of a column fall on each of a row.
Graph antialiased(World &world) {
    constexpr uint32_t length = 4096;
    TensorRecord column = world.tensor(0, GGML_TYPE_F32, 1, length);
    TensorRecord row = world.node(GGML_OP_UPSCALE, world.tensor(square_bytes, GGML_TYPE_F32, length), {column.id});
    row.op_params[0] = static_cast<int32_t>(GGML_SCALE_MODE_BILINEAR) | static_cast<int32_t>(GGML_SCALE_FLAG_ANTIALIAS);
    return graph_of({column}, row);
}

// As many streams as they are long, each made of all of them.
Graph mixed_streams(World &world) {
    TensorRecord x = world.tensor(0, GGML_TYPE_F32, side);
    TensorRecord streams = world.tensor(square_bytes, GGML_TYPE_F32, side, side);
    TensorRecord weights = world.tensor(square_bytes / 2, GGML_TYPE_F32, side);
    TensorRecord mixture = world.tensor(2 * square_bytes, GGML_TYPE_F32, side, side);
    TensorRecord mixed = world.node(GGML_OP_DSV4_HC_POST, world.tensor(3 * square_bytes, GGML_TYPE_F32, side, side),
                                    {x.id, streams.id, weights.id, mixture.id});
    return graph_of({x, streams, weights, mixture}, mixed);
}

// A kernel of one number for each pair of channels.
Graph many_channels(World &world) {
    TensorRecord kernel = world.tensor(0, GGML_TYPE_F32, 1);
    kernel.ne[3] = side * side;
    TensorRecord volume = world.tensor(square_bytes, GGML_TYPE_F32, side);
    volume.ne[3] = side;
    TensorRecord made = world.tensor(2 * square_bytes, GGML_TYPE_F32, side);
    made.ne[3] = side;
    made = world.node(GGML_OP_CONV_3D, made, {kernel.id, volume.id});
    const int32_t parameters[] = {1, 1, 1, 0, 0, 0, 1, 1, 1, side, 1, side};
    std::memcpy(made.op_params, parameters, sizeof parameters);
    return graph_of({kernel, volume}, made);
}

// Each takes 17 million steps and more to make few numbers of few.
void too_much_work_for_few_numbers() {
    const std::pair<const char *, Graph (*)(World &)> rows[] = {
        {"an antialiased row of a column", antialiased},
        {"streams mixed of all streams", mixed_streams},
        {"a volume of many channels", many_channels},
    };
    for (const auto &[name, make] : rows) {
        {
            World small({{"ggml.graph_work", "1e7"}});
            expect_equal(small.compute(make(small)), failed, name);
        }
        World large({{"ggml.graph_work", "1e8"}});
        expect_equal(large.compute(make(large)), ok, std::string(name) + " where it may be");
    }
    World world;
    for (int32_t channels : {-1, INT32_MIN, INT32_MAX}) {
        Graph graph = many_channels(world);
        graph.tensors.back().op_params[9] = channels;
        expect_equal(world.compute(graph), failed, "a volume of " + std::to_string(channels) + " channels");
    }
}

void too_long() {
    World world({{"ggml.graph_time_ms", "1"}});
    int32_t status = 99;
    expect_equal(world.compute(large_product(world), &status), ok, "a graph that takes too long");
    expect_equal(status, static_cast<int32_t>(GraphStatus::aborted), "a graph that takes too long");
}

void cancelled() {
    World world;
    auto *cancel = reinterpret_cast<void (*)(uint32_t)>(dlsym(dlopen(HOST_LIBRARY, RTLD_NOW | RTLD_LOCAL), "apir_backend_cancel"));
    expect(cancel != nullptr, "there is a cancel");
    if (cancel == nullptr) return;
    std::atomic<bool> ended{false};
    // Before the graph begins it has no effect: it is said until the graph has ended.
    std::thread other([&] {
        while (!ended) cancel(1);
    });
    int32_t status = 99;
    uint32_t code = world.compute(large_product(world), &status);
    ended = true;
    other.join();
    expect_equal(code, ok, "a cancelled graph");
    expect_equal(status, static_cast<int32_t>(GraphStatus::aborted), "a cancelled graph");
    expect_equal(world.compute(large_product(world), &status), ok, "the next graph");
    expect_equal(status, computed, "the next graph");
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"indices", indices}, {"experts", experts},
                      {"guarded_again_and_again", guarded_again_and_again},
                      {"sorted", sorted}, {"sorted_again", sorted_again}, {"sorted_moments", sorted_moments},
                      {"read_behind", read_behind},
                      {"too_much_work", too_much_work},
                      {"too_much_work_for_few_numbers", too_much_work_for_few_numbers},
                      {"too_long", too_long},
                      {"cancelled", cancelled}},
                     count > 1 ? values[1] : nullptr);
}
