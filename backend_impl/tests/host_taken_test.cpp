// Data that says where a kernel goes, of each op that has such: its numbers are checked, and the kernel has them, and what it sorts, where the guest, which
// may write to its own memory at any time, does not reach. And how much work each op makes of its tensors.
#include <ggml.h>

#include <algorithm>
#include <cstring>

#include "host_loopback.hpp"
#include "host_op.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;
constexpr uint32_t i32 = GGML_TYPE_I32, i64 = GGML_TYPE_I64;
constexpr uint32_t resource = 9;
constexpr uint32_t card = 1; // that makes buffers of shared memory
constexpr uint64_t size = uint64_t{1} << 20;

// A buffer in the guest's own memory.
struct World {
    explicit World(const std::string &graph_work = "") : host(1, {{"ggml.library.path", TWO_DEVICES}, {"ggml.threads", "1"}, {"ggml.graph_work", graph_work}}) {
        expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
        memory = host.add(resource, size).data();
        buffer = on_card<DeviceBufferFromPtrReply>(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{resource, size, size}).buffer;
        expect(buffer != 0, "a buffer in the guest's own memory");
    }

    template <typename Request> uint32_t code(Call call, const Request &request, std::vector<uint8_t> *reply = nullptr) {
        std::vector<uint8_t> bytes = Loopback::encoded(OnDeviceRequest{card, static_cast<uint32_t>(call)});
        const std::vector<uint8_t> asked = Loopback::encoded(request);
        bytes.insert(bytes.end(), asked.begin(), asked.end());
        return host.raw(static_cast<uint32_t>(Call::on_device), bytes, reply);
    }
    template <typename Reply, typename Request> Reply on_card(Call call, const Request &request) {
        std::vector<uint8_t> bytes;
        expect_equal(code(call, request, &bytes), ok, call_name(static_cast<uint32_t>(call)));
        Reader reader(bytes.data(), bytes.size());
        Reply reply;
        read(reader, reply);
        return reply;
    }

    // The op's tensors, one behind the other, each 16 KiB from the next.
    WideGraph graph_of(const Op &op) const {
        WideGraph graph;
        graph.tensors = records_of(op);
        graph.nodes = {1};
        graph.tensors[0].flags = static_cast<int32_t>(tensor_flag_compute);
        for (size_t i = 0; i < graph.tensors.size(); ++i) graph.tensors[i].buffer = buffer, graph.tensors[i].data = place(i);
        return graph;
    }
    static uint64_t place(size_t tensor) { return tensor << 14; }
    template <typename Number> void put(size_t tensor, const std::vector<Number> &numbers) const {
        std::memcpy(memory + place(tensor), numbers.data(), numbers.size() * sizeof(Number));
    }
    uint64_t send(const WideGraph &graph) {
        const std::vector<uint8_t> bytes = Loopback::encoded(graph);
        std::copy(bytes.begin(), bytes.end(), host.resource(Loopback::data_resource).data());
        return bytes.size();
    }
    uint32_t compute(const Op &op) { return code(Call::wide_graph_compute, WideGraphComputeRequest{Loopback::data_resource, send(graph_of(op))}); }

    Loopback host;
    uint8_t *memory = nullptr;
    uint64_t buffer = 0;
};

struct Indexed {
    Op op;
    size_t source; // that has the numbers
    int64_t limit;
    int64_t least = 0;
};

constexpr int64_t none = APIR_GGML_GENERATION > 0 ? -1 : 0; // what stands for no expert and no bias

const Indexed indexed[] = {
    {{"GET_ROWS", GGML_OP_GET_ROWS, {{4, 3, 2, 1}}, {{{4, 8, 2, 1}}, {{3, 2, 1, 1}, i32, {64}}}, {}}, 1, 8}, // in rows that are apart
    {{"GET_ROWS_BACK", GGML_OP_GET_ROWS_BACK, {{4, 8, 1, 1}}, {{{4, 3, 1, 1}}, {{3, 1, 1, 1}, i32}}, {}}, 1, 8},
    {{"SET_ROWS", GGML_OP_SET_ROWS, {{4, 8, 1, 1}}, {{{4, 3, 1, 1}}, {{3, 1, 1, 1}, i64}}, {}}, 1, 8},
    {{"ADD_ID", GGML_OP_ADD_ID, {{4, 2, 3, 1}}, {{{4, 2, 3, 1}}, {{4, 8, 1, 1}}, {{2, 3, 1, 1}, i32}}, {}}, 2, 8, none},
    {{"MUL_MAT_ID", GGML_OP_MUL_MAT_ID, {{1, 2, 1, 1}}, {{{4, 1, 8, 1}}, {{4, 1, 1, 1}}, {{2, 1, 1, 1}, i32}}, {}}, 2, 8, none},
    {{"SSM_SCAN", GGML_OP_SSM_SCAN, {{80, 1, 1, 1}},
      {{{4, 4, 2, 1}}, {{4, 2, 1, 2}}, {{2, 1, 2, 1}}, {{1, 2, 1, 1}}, {{4, 1, 1, 2}}, {{4, 1, 1, 2}}, {{2, 1, 1, 1}, i32}}, {1}}, 6, 1},
#if APIR_GGML_GENERATION > 0
    {{"FLASH_ATTN_EXT", GGML_OP_FLASH_ATTN_EXT, {{16, 2, 4, 1}},
      {{{16, 4, 2, 1}}, {{16, 8, 2, 1}}, {{16, 8, 2, 1}}, {{2, 4, 1, 1}, GGML_TYPE_F16}, {{2, 1, 1, 1}}, {{2, 1, 1, 1}, i32}}, {0x3f800000}}, 5, 8, INT32_MIN},
#endif
};

const Op turned{"ROPE", GGML_OP_ROPE, {{64, 1, 1, 1}}, {{{64, 1, 1, 1}}, {{1, 1, 1, 1}, i32}, {{16, 1, 1, 1}}},
                {0, 32, 0, 0, 0, 0x461c4000, 0x3f800000, 0, 0x3f800000, 0x42000000, 0x3f800000}};
Op turned_back() {
    Op op = turned;
    op.name = "ROPE_BACK", op.op = GGML_OP_ROPE_BACK;
    return op;
}

void numbers_are_checked() {
    World world;
    for (const auto &[op, source, limit, least] : indexed) {
        const bool wide = op.sources[source].type == i64;
        for (int64_t number : {limit - 1, limit, int64_t{-1}, int64_t{-2}, int64_t{INT32_MAX}, int64_t{INT32_MIN}}) {
            if (wide) world.put<int64_t>(source + 1, {0, number});
            else world.put<int32_t>(source + 1, {0, static_cast<int32_t>(number)});
            expect_equal(world.compute(op), number >= least && number < limit ? ok : failed, std::string(op.name) + " by " + std::to_string(number));
        }
    }
}

// What the kernel is given of the watched graph's one node.
const uint8_t *guests = nullptr;
size_t watched_source = 0;
bool within_reach = false, result_within_reach = false, dense = false;
int watched = 0;

bool is_guests(const ggml_tensor &tensor) {
    const auto *data = static_cast<const uint8_t *>(tensor.data);
    return data >= guests && data < guests + size;
}

void look(ggml_cgraph *graph) {
    const ggml_tensor &node = *ggml_graph_node(graph, 0);
    ++watched;
    within_reach = is_guests(*node.src[watched_source]);
    dense = ggml_is_contiguous(node.src[watched_source]);
    result_within_reach = is_guests(node);
}

void the_guest_does_not_reach_them() {
    auto *watch = reinterpret_cast<void (*)(void (*)(ggml_cgraph *))>(dlsym(dlopen(TWO_DEVICES, RTLD_NOW | RTLD_LOCAL), "cards_watch"));
    World world;
    guests = world.memory;
    watch(look);
    auto expect_kept = [&](const Op &op, size_t source, bool result_too) {
        std::memset(world.memory, 0, size);
        watched_source = source;
        const int before = watched;
        expect_equal(world.compute(op), ok, op.name);
        expect(watched == before + 1 && !within_reach, std::string(op.name) + ": its data lies elsewhere");
        expect(dense, std::string(op.name) + ": side by side");
        expect(result_within_reach != result_too, std::string(op.name) + ": where its result lies");
    };
    for (const Indexed &each : indexed) expect_kept(each.op, each.source, false);
    expect_kept({"ARGSORT", GGML_OP_ARGSORT, {{4, 1, 1, 1}, i32}, {{{4, 1, 1, 1}}}, {}}, 0, true);
    expect_kept({"TOP_K", GGML_OP_TOP_K, {{2, 1, 1, 1}, i32}, {{{4, 1, 1, 1}}}, {}}, 0, true);
    expect_kept(turned, 2, false);
    expect_kept(turned_back(), 2, false);
    watch(nullptr);
}

// A graph that is kept has its own tensors again when the numbers of one of its nodes were refused, whose others had been taken already.
void a_kept_graph_after_a_refusal() {
    constexpr uint64_t behind = uint64_t{1} << 17;
    World world;
    WideGraph graph = world.graph_of(indexed[0].op);
    for (WideTensorRecord each : world.graph_of(indexed[0].op).tensors) {
        each.id += 10, each.data += behind;
        for (uint64_t &source : each.src) source += source == 0 ? 0 : 10;
        graph.tensors.push_back(each);
    }
    graph.nodes = {1, 11};
    std::vector<float> table(64);
    for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i);
    world.put(1, table);
    const GraphKeepRequest keep{Loopback::data_resource, world.send(graph), true, {}};
    const uint64_t number = world.on_card<GraphKeepReply>(Call::graph_keep, keep).graph;
    auto *last = reinterpret_cast<int32_t *>(world.memory + world.place(2) + behind);
    for (int32_t row : {1, 7}) {
        world.put<int32_t>(2, {0, row});
        *last = 8;
        expect_equal(world.code(Call::graph_run, GraphRunRequest{number}), failed, "a row that there is not");
        *last = 0;
        expect_equal(world.code(Call::graph_run, GraphRunRequest{number}), ok, "one that there is");
        float first = 0;
        std::memcpy(&first, world.memory + world.place(0) + 4 * sizeof(float), sizeof first);
        expect(first == static_cast<float>(4 * row), "the other node's row");
    }
}

// Numbers that the graph makes before are waited for, whichever part of them is written once more in between.
void numbers_that_are_made_here() {
    World world;
    WideGraph graph;
    auto add = [&](uint64_t id, Shape shape, uint64_t place, ggml_op op = GGML_OP_NONE, std::vector<uint64_t> sources = {}) {
        WideTensorRecord record = record_of(shape, id);
        record.buffer = world.buffer, record.data = place, record.op = op;
        std::copy(sources.begin(), sources.end(), record.src);
        if (op != GGML_OP_NONE) record.flags = static_cast<int32_t>(tensor_flag_compute), graph.nodes.push_back(id);
        graph.tensors.push_back(record);
    };
    add(1, {{16, 1, 1, 1}, i32}, 0);
    add(2, {{16, 1, 1, 1}, i32}, 4096, GGML_OP_CONT, {1});
    add(3, {{4, 1, 1, 1}, i32}, 128);
    add(4, {{4, 1, 1, 1}, i32}, 4096 + 16, GGML_OP_CONT, {3});
    add(5, {{4, 8, 1, 1}}, 8192);
    add(6, {{3, 1, 1, 1}, i32}, 4096 + 48);
    add(7, {{4, 3, 1, 1}}, 12288, GGML_OP_GET_ROWS, {5, 6});
    std::fill_n(reinterpret_cast<int32_t *>(world.memory), 16, 5);
    for (int i = 0; i < 32; ++i) reinterpret_cast<float *>(world.memory + 8192)[i] = static_cast<float>(i);
    expect_equal(world.code(Call::wide_graph_compute, WideGraphComputeRequest{Loopback::data_resource, world.send(graph)}), ok, "a graph");
    float first = 0;
    std::memcpy(&first, world.memory + 12288, sizeof first);
    expect(first == 20, "a row by a number that was made before: " + std::to_string(first));
}

struct Worked {
    Op op;
    const char *less; // than its steps, and more than any of its tensors has numbers
};

const Worked worked[] = {
    {{"OUT_PROD", GGML_OP_OUT_PROD, {{8, 8, 1, 1}}, {{{8, 64, 1, 1}}, {{8, 64, 1, 1}}}, {}}, "600"},
    {{"SOLVE_TRI", GGML_OP_SOLVE_TRI, {{8, 32, 1, 1}}, {{{32, 32, 1, 1}}, {{8, 32, 1, 1}}}, {}}, "1100"},
    {{"CONV_2D", GGML_OP_CONV_2D, {{8, 8, 4, 1}}, {{{3, 3, 2, 4}}, {{8, 8, 2, 1}}}, {1, 1, 1, 1, 1, 1}}, "300"},
    {{"FLASH_ATTN_EXT", GGML_OP_FLASH_ATTN_EXT, {{16, 1, 32, 1}}, {{{16, 32, 1, 1}}, {{16, 32, 1, 1}}, {{16, 32, 1, 1}}}, {0x3f800000}}, "1100"},
    {{"POOL_2D", GGML_OP_POOL_2D, {{4, 4, 1, 1}}, {{{4, 4, 1, 1}}}, {GGML_OP_POOL_AVG, 9, 9, 1, 1, 4, 4}}, "100"},
    {{"SUM", GGML_OP_SUM, {{1, 1, 1, 1}}, {{{1024, 1, 1, 1}}}, {}}, "1000"},
    {{"SSM_SCAN", GGML_OP_SSM_SCAN, indexed[5].op.result, indexed[5].op.sources, {1}}, "100"},
};

void work_of_each_op() {
    for (const auto &[op, less] : worked) {
        World little(less);
        expect_equal(little.compute(op), failed, std::string(op.name) + " of more than " + less + " steps");
    }
    World any;
    for (const Worked &each : worked) expect_equal(any.compute(each.op), ok, std::string(each.op.name) + " where it may");
    // A single node that nothing could end for hours, in a graph of no more work than may be.
    const Op endless{"POOL_2D", GGML_OP_POOL_2D, {{1, 1, 1, 1}}, {{{1, 1, 1, 1}}}, {GGML_OP_POOL_AVG, 4194305, 4194305, 1, 1, 2097152, 2097152}};
    alarm(20);
    expect_equal(any.compute(endless), failed, "a node of 1.8e13 steps");
}

} // namespace

int main(int count, char **values) {
    setenv("GGML_NO_BACKTRACE", "1", 1);
    return run_cases({{"numbers_are_checked", numbers_are_checked},
                      {"the_guest_does_not_reach_them", the_guest_does_not_reach_them},
                      {"a_kept_graph_after_a_refusal", a_kept_graph_after_a_refusal},
                      {"numbers_that_are_made_here", numbers_that_are_made_here},
                      {"work_of_each_op", work_of_each_op}},
                     count > 1 ? values[1] : nullptr);
}
