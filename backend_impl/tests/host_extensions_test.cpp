// Extensions of the host library: each call does what its counterpart of 0.2 does, and what that cannot.
#include <ggml.h>

#include <cstring>
#include <functional>

#include "host_loopback.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;

WideTensorRecord wide(const TensorRecord &tensor) {
    WideTensorRecord made;
    made.id = tensor.id;
    made.type = tensor.type;
    made.op = tensor.op;
    made.buffer = tensor.buffer;
    for (int i = 0; i < 4; ++i) {
        made.ne[i] = tensor.ne[i];
        made.nb[i] = tensor.nb[i];
    }
    std::memcpy(made.op_params, tensor.op_params, sizeof made.op_params);
    made.flags = tensor.flags;
    std::memcpy(made.src, tensor.src, sizeof made.src);
    made.view_src = tensor.view_src;
    made.view_offs = tensor.view_offs;
    made.data = tensor.data;
    std::memcpy(made.name, tensor.name, sizeof made.name);
    return made;
}

// d = a * a + a over 8 floats.
Graph graph_in(uint64_t buffer) {
    Graph graph;
    graph.tensors = {f32_tensor(1, buffer, 0, 8), f32_tensor(2, buffer, 64, 8), f32_tensor(3, buffer, 128, 8)};
    TensorRecord *t = graph.tensors.data();
    t[1].op = GGML_OP_MUL;
    t[1].src[0] = t[1].src[1] = 1;
    t[2].op = GGML_OP_ADD;
    t[2].src[0] = 2;
    t[2].src[1] = 1;
    t[1].flags = t[2].flags = static_cast<int32_t>(tensor_flag_compute);
    graph.nodes = {2, 3};
    return graph;
}

WideGraph wide_graph_in(uint64_t buffer) {
    WideGraph made;
    Graph graph = graph_in(buffer);
    made.nodes = graph.nodes;
    for (const TensorRecord &tensor : graph.tensors) made.tensors.push_back(wide(tensor));
    return made;
}

template <typename Message> void put(Loopback &host, const Message &message, uint64_t &size) {
    std::vector<uint8_t> bytes = Loopback::encoded(message);
    std::memcpy(host.resource(Loopback::data_resource).data(), bytes.data(), bytes.size());
    size = bytes.size();
}

std::vector<uint8_t> on_device(uint32_t device, Call call, const std::vector<uint8_t> &request) {
    std::vector<uint8_t> bytes = Loopback::encoded(OnDeviceRequest{device, static_cast<uint32_t>(call)});
    bytes.insert(bytes.end(), request.begin(), request.end());
    return bytes;
}

std::vector<uint8_t> result_of(Loopback &host, uint64_t buffer) {
    TensorRecord result = graph_in(buffer).tensors[2];
    uint32_t resource = Loopback::data_resource;
    expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{buffer, result, resource, 0, 32}), ok, "get");
    return {host.resource(resource).data(), host.resource(resource).data() + 32};
}

void fill_input(Loopback &host, uint64_t buffer) {
    float values[8] = {0.1F, 1, 2.7F, 3, 4, 5.5F, 6, 7};
    std::memcpy(host.resource(Loopback::data_resource).data(), values, sizeof values);
    WideTensorRecord input = wide(graph_in(buffer).tensors[0]);
    expect_equal(host.code(Call::wide_set_tensor, WideSetTensorRequest{buffer, input, Loopback::data_resource, 0, 32}), ok, "set");
}

void wide_is_the_same() {
    auto host = cpu_loopback();
    uint64_t narrow_buffer = new_buffer(*host, 4096);
    uint64_t wide_buffer = new_buffer(*host, 4096);
    uint64_t size = 0;
    fill_input(*host, narrow_buffer);
    put(*host, graph_in(narrow_buffer), size);
    expect_equal(host->code(Call::backend_graph_compute, BackendGraphComputeRequest{Loopback::data_resource, size}), ok, "call 22");
    fill_input(*host, wide_buffer);
    put(*host, wide_graph_in(wide_buffer), size);
    expect_equal(host->code(Call::wide_graph_compute, WideGraphComputeRequest{Loopback::data_resource, size}), ok, "call 71");
    expect(result_of(*host, narrow_buffer) == result_of(*host, wide_buffer), "the same bits");
    WideTensorRecord from = wide(graph_in(wide_buffer).tensors[2]);
    WideTensorRecord to = wide(graph_in(narrow_buffer).tensors[1]);
    expect(host->call<WideCpyTensorReply>(Call::wide_cpy_tensor, WideCpyTensorRequest{narrow_buffer, from, to}).copied, "copied");
    expect_equal(host->code(Call::wide_get_tensor, WideGetTensorRequest{narrow_buffer, to, Loopback::data_resource, 0, 32}), ok,
                 "wide get");
    std::vector<uint8_t> copied(host->resource(2).data(), host->resource(2).data() + 32);
    expect(copied == result_of(*host, wide_buffer), "a copy's bits");
    for (size_t cut = 0; cut < size; ++cut)
        expect_equal(host->code(Call::wide_graph_compute, WideGraphComputeRequest{Loopback::data_resource, cut}), failed, "cut off");
}

void strides_beyond_32_bits() {
    auto host = cpu_loopback();
    uint64_t buffer = new_buffer(*host, 4096);
    fill_input(*host, buffer);
    WideGraph graph = wide_graph_in(buffer);
    uint64_t size = 0;
    for (WideTensorRecord &tensor : graph.tensors) tensor.nb[3] = uint64_t{1} << 33;
    put(*host, graph, size);
    expect_equal(host->code(Call::wide_graph_compute, WideGraphComputeRequest{Loopback::data_resource, size}), ok, "unused stride");
    std::vector<uint8_t> result = result_of(*host, buffer);
    float second = 0;
    std::memcpy(&second, result.data() + 4, sizeof second);
    expect(second == 2, "computed");
    auto refused = [&](const char *what, const std::function<void(WideTensorRecord &)> &spoil) {
        WideGraph other = graph;
        spoil(other.tensors[0]);
        put(*host, other, size);
        expect_equal(host->code(Call::wide_graph_compute, WideGraphComputeRequest{Loopback::data_resource, size}), failed, what);
    };
    refused("a stride out of the buffer", [](auto &t) { t.ne[3] = 2; });
    refused("a stride beyond all memory", [](auto &t) { t.nb[3] = uint64_t{1} << 60; });
    refused("a negative dimension", [](auto &t) { t.ne[1] = -1; });
    refused("a dimension that is too large", [](auto &t) { t.ne[0] = int64_t{1} << 40; });
    refused("dimensions that overflow", [](auto &t) { t.ne[0] = t.ne[1] = t.ne[2] = t.ne[3] = INT32_MAX; });
}

// Soft max with sinks and no mask: the in-line form cannot say that source 1 is missing and source 2 is not.
void sources_behind_a_hole() {
    auto host = cpu_loopback();
    WideTensorRecord op = wide(f32_tensor(1, 0, 0, 16, 4));
    op.op = GGML_OP_SOFT_MAX;
    op.src[0] = 2;
    float scale = 1;
    std::memcpy(op.op_params, &scale, sizeof scale);
    WideTensorRecord logits = wide(f32_tensor(2, 0, 0, 16, 4));
    WideTensorRecord sinks = wide(f32_tensor(3, 0, 0, 1));
    op.src[2] = 3;
    auto supported = [&] {
        return host->call<WideSupportsOpReply>(Call::wide_supports_op, WideSupportsOpRequest{{op, logits, sinks}}).supported;
    };
    expect(supported(), "sinks that fit");
    sinks.ne[0] = 7; // one for each head, and there is one
    expect(!supported(), "sinks that do not fit");
    // What is no op is not supported; no error, which would be one of calls in the same command, too.
    auto refused = [&](const std::vector<WideTensorRecord> &records, const std::string &what) {
        expect_equal(host->code(Call::wide_supports_op, WideSupportsOpRequest{records}), ok, what);
        expect(!host->call<WideSupportsOpReply>(Call::wide_supports_op, WideSupportsOpRequest{records}).supported, what);
    };
    op.src[2] = 9;
    refused({op, logits, sinks}, "a source that is none");
    refused({}, "no op");
    refused(std::vector<WideTensorRecord>(13, op), "too many tensors");
    op.src[2] = 0;
    op.view_src = 1;
    refused({op, logits}, "a view of itself");
    uint64_t type = device_buffer_type(*host);
    expect_equal(host->call<WideGetAllocSizeReply>(Call::wide_get_alloc_size, WideGetAllocSizeRequest{type, {logits}}).size,
                 uint64_t{256}, "alloc size");
}

template <typename Reply, typename Request> Reply ask(Loopback &host, uint32_t device, Call call, const Request &request) {
    std::vector<uint8_t> bytes;
    expect_equal(host.raw(static_cast<uint32_t>(Call::on_device), on_device(device, call, Loopback::encoded(request)), &bytes), ok,
                 call_name(static_cast<uint32_t>(call)));
    Reader reader(bytes.data(), bytes.size());
    Reply reply;
    read(reader, reply);
    return reply;
}

void two_devices() {
    Loopback host(1, {{"ggml.library.path", TWO_DEVICES}, {"ggml.threads", "1"}});
    expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
    expect_equal(host.call<DeviceGetCountReply>(Call::device_get_count, DeviceGetCountRequest{}).count, 2, "count");
    uint64_t types[2];
    for (uint32_t i = 0; i < 2; ++i) {
        expect(ask<DeviceGetNameReply>(host, i, Call::device_get_name, DeviceGetNameRequest{}).name == "CARD" + std::to_string(i), "name");
        types[i] = ask<DeviceGetBufferTypeReply>(host, i, Call::device_get_buffer_type, DeviceGetBufferTypeRequest{}).buft;
        bool pointers = ask<DeviceGetPropsReply>(host, i, Call::device_get_props, DeviceGetPropsRequest{}).buffer_from_host_ptr;
        expect(pointers == (i == 1), "props");
    }
    expect(types[0] != types[1], "each has a buffer type");
    expect(host.call<DeviceGetNameReply>(Call::device_get_name, DeviceGetNameRequest{}).name == "CARD0", "0.2 means device 0");
    expect_equal(device_buffer_type(host), types[0], "also for the buffer type");
    uint64_t buffer =
        host.call<BufferTypeAllocBufferReply>(Call::buffer_type_alloc_buffer, BufferTypeAllocBufferRequest{types[1], 4096}).buffer;
    fill_input(host, buffer);
    uint64_t size = 0;
    put(host, graph_in(buffer), size);
    BackendGraphComputeRequest compute{Loopback::data_resource, size};
    expect_equal(host.code(Call::backend_graph_compute, compute), failed, "memory of device 1 on device 0");
    expect_equal(ask<BackendGraphComputeReply>(host, 1, Call::backend_graph_compute, compute).status, 0, "and on device 1");
    float sixth = 0;
    std::memcpy(&sixth, result_of(host, buffer).data() + 24, sizeof sixth);
    expect(sixth == 42, "its result");
    put(host, graph_in(buffer), size);
    std::vector<uint8_t> request = Loopback::encoded(compute);
    auto refused = [&](uint32_t device, uint32_t call) {
        return host.raw(static_cast<uint32_t>(Call::on_device), on_device(device, static_cast<Call>(call), request)) == failed;
    };
    expect(refused(2, 22) && refused(UINT32_MAX, 22), "devices that do not exist");
    expect(refused(1, static_cast<uint32_t>(Call::on_device)) && refused(1, static_cast<uint32_t>(Call::negotiate)), "nothing nests");
    expect_equal(host.raw(static_cast<uint32_t>(Call::on_device), on_device(1, static_cast<Call>(9999), {})), 6u, "an unknown call");
    for (size_t cut : {0, 4, 7}) {
        std::vector<uint8_t> bytes = on_device(1, Call::device_get_name, {});
        bytes.resize(cut);
        expect_equal(host.raw(static_cast<uint32_t>(Call::on_device), bytes), failed, "cut off");
    }
    expect(host.call<DeviceGetNameReply>(Call::device_get_name, DeviceGetNameRequest{}).name == "CARD0", "no call leaves its device");
}

GraphKeepReply kept(Loopback &host, const Graph &graph, std::vector<uint64_t> dropped = {}) {
    uint64_t size = 0;
    put(host, graph, size);
    return host.call<GraphKeepReply>(Call::graph_keep, GraphKeepRequest{Loopback::data_resource, size, false, std::move(dropped)});
}

bool known(Loopback &host, uint64_t graph) { return host.call<GraphRunReply>(Call::graph_run, GraphRunRequest{graph}).known; }

void graphs_by_number() {
    auto host = cpu_loopback();
    uint64_t buffer = new_buffer(*host, 4096);
    fill_input(*host, buffer);
    GraphKeepReply first = kept(*host, graph_in(buffer));
    expect(first.status == 0 && first.graph != 0, "kept");
    std::vector<uint8_t> expected = result_of(*host, buffer);
    expect_equal(host->code(Call::buffer_clear, BufferClearRequest{buffer, 0}), ok, "clear");
    fill_input(*host, buffer);
    expect(known(*host, first.graph) && result_of(*host, buffer) == expected, "run again");
    // Only the guest's copy is written to from here on: the host has its own.
    std::memset(host->resource(Loopback::data_resource).data(), 0xff, 4096);
    expect(known(*host, first.graph), "the host's own copy");

    for (uint64_t number : {uint64_t{0}, uint64_t{1}, first.graph + 1, buffer, device_buffer_type(*host), UINT64_MAX})
        expect(!known(*host, number), "numbers that are no graph's");
    GraphKeepReply second = kept(*host, graph_in(buffer), {first.graph, 0, 77, buffer});
    expect(second.graph != first.graph && !known(*host, first.graph) && known(*host, second.graph), "dropped");
    expect(result_of(*host, buffer) == expected, "a buffer's handle among the dropped harms nothing");

    expect_equal(host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{buffer}), ok, "free");
    expect(!known(*host, second.graph), "a graph in a freed buffer");
    uint64_t other = new_buffer(*host, 4096);
    expect(!known(*host, second.graph), "also when another buffer has come");
    uint64_t size = 0;
    Graph bad = graph_in(other);
    bad.tensors[1].src[0] = 9;
    put(*host, bad, size);
    expect_equal(host->code(Call::graph_keep, GraphKeepRequest{Loopback::data_resource, size, false, {}}), failed, "checked");
    put(*host, graph_in(other), size);
    expect_equal(host->code(Call::graph_keep, GraphKeepRequest{Loopback::data_resource, size, true, {}}), failed, "narrow as wide");
    expect_equal(host->code(Call::graph_keep, GraphKeepRequest{99, size, false, {}}), failed, "no such resource");
    put(*host, wide_graph_in(other), size);
    auto wide_kept = host->call<GraphKeepReply>(Call::graph_keep, GraphKeepRequest{Loopback::data_resource, size, true, {}});
    expect(wide_kept.graph != 0 && known(*host, wide_kept.graph), "a wide one");
}

// What a guest can make the host remember is bounded, and a new graph pushes no other out.
void room_for_graphs() {
    auto host = cpu_loopback();
    uint64_t buffer = new_buffer(*host, 4096);
    fill_input(*host, buffer);
    uint64_t first = kept(*host, graph_in(buffer)).graph;
    size_t many = 1;
    while (many < 1000 && kept(*host, graph_in(buffer)).graph != 0) ++many;
    expect_equal(many, size_t{64}, "graphs of one context");
    expect(known(*host, first), "the first is still there");
    expect(kept(*host, graph_in(buffer), {first}).graph != 0, "room again");
    auto next = cpu_loopback(2);
    expect(!known(*next, first + 1), "another context's number");
}

void patched_graphs() {
    auto host = cpu_loopback();
    uint64_t buffer = new_buffer(*host, 4096);
    fill_input(*host, buffer);
    Graph graph = graph_in(buffer);
    uint64_t number = kept(*host, graph).graph;
    auto patch = [&](const GraphChanges &changes, size_t cut = SIZE_MAX) {
        uint64_t size = 0;
        put(*host, changes, size);
        return host->code(Call::graph_patch, GraphPatchRequest{number, Loopback::data_resource, std::min<uint64_t>(size, cut)});
    };
    graph.tensors[2].op = GGML_OP_MUL;
    expect_equal(patch({{2}, {graph.tensors[2]}}), ok, "a * a * a");
    float sixth = 0;
    std::memcpy(&sixth, result_of(*host, buffer).data() + 24, sizeof sixth);
    expect(sixth == 216, "the change was computed");
    expect(known(*host, number), "the changed graph is the kept one");
    expect_equal(patch({{}, {}}), ok, "no change");

    auto refused = [&](const char *what, const GraphChanges &changes, size_t cut = SIZE_MAX) {
        expect_equal(patch(changes, cut), failed, what);
        expect(!known(*host, number), "a change that was refused ends the graph");
        number = kept(*host, graph).graph;
    };
    refused("a place that is none", {{3}, {graph.tensors[2]}});
    refused("a place far away", {{UINT32_MAX}, {graph.tensors[2]}});
    refused("more places than records", {{1, 2}, {graph.tensors[2]}});
    refused("more records than places", {{2}, {graph.tensors[2], graph.tensors[1]}});
    refused("another id", {{1}, {graph.tensors[2]}});
    TensorRecord spoilt = graph.tensors[2];
    spoilt.data = 4096;
    refused("a result behind the buffer", {{2}, {spoilt}});
    spoilt = graph.tensors[1];
    spoilt.src[0] = 3;
    refused("a cycle", {{1}, {spoilt}});
    spoilt = graph.tensors[2];
    spoilt.buffer += 100;
    refused("a buffer that is none", {{2}, {spoilt}});
    for (size_t cut : {size_t{0}, size_t{3}, size_t{8}, size_t{11}, size_t{200}, size_t{315}}) refused("cut off", {{2}, {graph.tensors[2]}}, cut);
    uint64_t gone = number;
    number = gone + 1000;
    expect(!host->call<GraphPatchReply>(Call::graph_patch, GraphPatchRequest{number, Loopback::data_resource, 16}).known, "no graph");
    // A change may bring in another buffer: with its end the graph ends too.
    number = gone;
    uint64_t other = new_buffer(*host, 4096);
    spoilt = graph.tensors[2];
    spoilt.buffer = other;
    expect_equal(patch({{2}, {spoilt}}), ok, "a result in another buffer");
    expect_equal(host->code(Call::buffer_free_buffer, BufferFreeBufferRequest{other}), ok, "free");
    expect(!known(*host, number), "its graph has ended");
}

void graphs_of_two_devices() {
    Loopback host(1, {{"ggml.library.path", TWO_DEVICES}, {"ggml.threads", "1"}});
    expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
    uint64_t type = ask<DeviceGetBufferTypeReply>(host, 1, Call::device_get_buffer_type, DeviceGetBufferTypeRequest{}).buft;
    uint64_t buffer = host.call<BufferTypeAllocBufferReply>(Call::buffer_type_alloc_buffer, BufferTypeAllocBufferRequest{type, 4096}).buffer;
    fill_input(host, buffer);
    uint64_t size = 0;
    put(host, graph_in(buffer), size);
    GraphKeepRequest keep{Loopback::data_resource, size, false, {}};
    uint64_t number = ask<GraphKeepReply>(host, 1, Call::graph_keep, keep).graph;
    expect(ask<GraphRunReply>(host, 1, Call::graph_run, GraphRunRequest{number}).known, "on its device");
    expect_equal(host.code(Call::graph_run, GraphRunRequest{number}), failed, "on another");
    expect(ask<GraphRunReply>(host, 1, Call::graph_run, GraphRunRequest{number}).known, "it is still there");
}

// What ggml's backend left behind when it threw is not touched again, and its successor computes kept graphs too.
void backends_that_throw() {
    auto *cards = dlopen(TWO_DEVICES, RTLD_NOW | RTLD_LOCAL);
    auto throw_next = reinterpret_cast<void (*)()>(dlsym(cards, "cards_throw_next"));
    auto misused = reinterpret_cast<int (*)()>(dlsym(cards, "cards_misused"));
    {
        Loopback host(1, {{"ggml.library.path", TWO_DEVICES}, {"ggml.threads", "1"}});
        expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
        uint64_t buffer = new_buffer(host, 4096);
        fill_input(host, buffer);
        uint64_t number = kept(host, graph_in(buffer)).graph;
        BackendGraphComputeRequest compute{Loopback::data_resource, 0};
        for (int round = 0; round < 3; ++round) {
            put(host, graph_in(buffer), compute.size);
            throw_next();
            expect_equal(host.code(Call::backend_graph_compute, compute), failed, "a graph out of which ggml throws");
            auto run = host.call<GraphRunReply>(Call::graph_run, GraphRunRequest{number});
            expect(run.known && run.status == 0, "a kept graph after it");
            throw_next();
            expect_equal(host.code(Call::graph_run, GraphRunRequest{number}), failed, "a kept one out of which ggml throws");
            put(host, graph_in(buffer), compute.size);
            expect_equal(host.call<BackendGraphComputeReply>(Call::backend_graph_compute, compute).status, 0, "a graph after it");
            float sixth = 0;
            std::memcpy(&sixth, result_of(host, buffer).data() + 24, sizeof sixth);
            expect(sixth == 42, "its result");
        }
        // Each leaves something behind: not for ever.
        int thrown = 0;
        for (uint32_t code = ok; thrown < 1000 && code == ok; ++thrown) {
            throw_next();
            (void)host.code(Call::graph_run, GraphRunRequest{number});
            code = host.code(Call::graph_run, GraphRunRequest{number});
        }
        expect(thrown > 10 && thrown < 1000, "backends that were opened anew: " + std::to_string(thrown));
    }
    expect_equal(misused(), 0, "uses of a backend that threw");
}

// A graph whose very bytes come again is not checked again; with anything that has changed meanwhile it is.
void the_same_graph_again() {
    auto *cards = dlopen(TWO_DEVICES, RTLD_NOW | RTLD_LOCAL);
    auto throw_next = reinterpret_cast<void (*)()>(dlsym(cards, "cards_throw_next"));
    auto asked = reinterpret_cast<int (*)()>(dlsym(cards, "cards_asked"));
    Loopback host(1, {{"ggml.library.path", TWO_DEVICES}, {"ggml.threads", "1"}});
    expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
    const uint64_t buffer = new_buffer(host, 4096);
    const Graph graph = graph_in(buffer);
    auto sent = [&](const Graph &now, Call call = Call::backend_graph_compute, uint32_t device = 0) {
        BackendGraphComputeRequest compute{Loopback::data_resource, 0};
        put(host, now, compute.size);
        return host.raw(static_cast<uint32_t>(Call::on_device), on_device(device, call, Loopback::encoded(compute)));
    };
    // Whether it was checked.
    auto computed = [&](const Graph &now) {
        expect_equal(host.code(Call::buffer_clear, BufferClearRequest{buffer, 0}), ok, "clear");
        fill_input(host, buffer);
        const int before = asked();
        expect_equal(sent(now), ok, "a graph");
        float sixth = 0;
        std::memcpy(&sixth, result_of(host, buffer).data() + 24, sizeof sixth);
        expect(sixth == 42, "its result");
        return asked() != before;
    };
    expect(computed(graph) && !computed(graph) && !computed(graph), "the first time only");
    Graph named = graph;
    named.tensors[0].name[0] ^= 1;
    expect(computed(named) && computed(graph), "one that differs in a byte, and the one before it");

    expect_equal(sent(graph, Call::backend_graph_compute, 1), failed, "on a device that does not have its memory");
    expect(computed(graph), "after a refusal");
    expect_equal(sent(graph, Call::wide_graph_compute), failed, "as a graph of wide shapes");
    expect(computed(graph), "after another");
    throw_next();
    expect_equal(sent(graph), failed, "a graph out of which ggml throws");
    expect(computed(graph) && !computed(graph), "after that");

    const uint64_t other = new_buffer(host, 64);
    expect(!computed(graph), "a new buffer changes nothing");
    expect_equal(host.code(Call::buffer_free_buffer, BufferFreeBufferRequest{other}), ok, "free");
    expect(computed(graph) && !computed(graph), "a buffer that is gone might be the graph's");
    expect_equal(host.code(Call::buffer_free_buffer, BufferFreeBufferRequest{buffer}), ok, "free");
    expect_equal(sent(graph), failed, "its own buffer is gone");
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"wide_is_the_same", wide_is_the_same},
                      {"strides_beyond_32_bits", strides_beyond_32_bits},
                      {"sources_behind_a_hole", sources_behind_a_hole},
                      {"two_devices", two_devices},
                      {"graphs_by_number", graphs_by_number},
                      {"room_for_graphs", room_for_graphs},
                      {"patched_graphs", patched_graphs},
                      {"graphs_of_two_devices", graphs_of_two_devices},
                      {"the_same_graph_again", the_same_graph_again},
                      {"backends_that_throw", backends_that_throw}},
                     count > 1 ? values[1] : nullptr);
}
