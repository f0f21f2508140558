// A device whose memory this processor does not reach: its addresses say nothing, and two buffers may have the same ones.
#include <ggml.h>

#include <algorithm>

#include "host_loopback.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;

struct Far {
    explicit Far(const char *registration = "far_init") : host(1, {{"ggml.library.path", TWO_DEVICES}, {"ggml.library.reg", registration}, {"ggml.threads", "1"}}) {
        expect_equal(host.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
        host.add(3, large);
        for (uint64_t &buffer : buffers) buffer = new_buffer(host, large);
    }

    TensorRecord tensor(int buffer, uint64_t at, uint32_t n) { return f32_tensor(++last_id, buffers[buffer], at, n); }
    void fill(int buffer, uint8_t value) { expect_equal(host.code(Call::buffer_clear, BufferClearRequest{buffers[buffer], value}), ok, "clear"); }
    void set(const TensorRecord &to, uint64_t offset, uint64_t size, uint8_t value) {
        std::fill_n(host.resource(3).data(), size, value);
        expect_equal(host.code(Call::buffer_set_tensor, BufferSetTensorRequest{to.buffer, to, 3, offset, size}), ok, "set");
    }
    // Whether all of it is that.
    bool holds(const TensorRecord &from, uint64_t offset, uint64_t size, uint8_t value) {
        uint8_t *data = host.resource(3).data();
        std::fill_n(data, size, static_cast<uint8_t>(value + 1));
        expect_equal(host.code(Call::buffer_get_tensor, BufferGetTensorRequest{from.buffer, from, 3, offset, size}), ok, "get");
        return std::count(data, data + size, value) == static_cast<std::ptrdiff_t>(size);
    }
    uint32_t compute(const Graph &graph) {
        std::vector<uint8_t> bytes = Loopback::encoded(graph);
        std::copy(bytes.begin(), bytes.end(), host.resource(3).data());
        return host.code(Call::backend_graph_compute, BackendGraphComputeRequest{3, bytes.size()});
    }

    static constexpr uint64_t large = uint64_t{33} << 20; // no cache holds it
    Loopback host;
    uint64_t buffers[2] = {};
    uint64_t last_id = 0;
};

// Also beside memory that the processor does reach, which it copies by itself where that is large.
void data() {
    for (const char *registration : {"far_init", "ggml_backend_init"}) {
        Far far(registration);
        for (uint32_t n : {16u, static_cast<uint32_t>(Far::large / 4)}) {
            const uint64_t size = uint64_t{4} * n;
            const TensorRecord tensor = far.tensor(0, 0, n);
            far.fill(0, 1);
            far.set(tensor, 4, size - 8, 2);
            const bool same = far.holds(tensor, 0, 4, 1) && far.holds(tensor, 4, size - 8, 2) && far.holds(tensor, size - 4, 4, 1);
            expect(same, registration + (": what was set, of " + std::to_string(size)));
        }
    }
}

void facts() {
    Far far;
    const auto memory = far.host.call<DeviceGetMemoryReply>(Call::device_get_memory, DeviceGetMemoryRequest{});
    expect(memory.free == uint64_t{1} << 30 && memory.total == uint64_t{2} << 30, "its memory");
    const auto props = far.host.call<DeviceGetPropsReply>(Call::device_get_props, DeviceGetPropsRequest{});
    expect(props.asynchronous && !props.host_buffer && !props.buffer_from_host_ptr && props.events, "its props");
    const auto all = far.host.call<DeviceSummaryReply>(Call::device_summary, DeviceSummaryRequest{});
    expect(all.name == "FAR" && all.description == "far away" && all.buft_name == "CARD0 memory", "its names");
    expect(all.free == memory.free && all.total == memory.total && all.max_size == uint64_t{40} << 20, "its sizes");
    expect(!all.buffer_from_host_ptr && props.mmap_support && all.mmap_support, "its props at once");
}

// At the same address, and at one between.
void copies() {
    Far far;
    for (uint64_t at : {0, 16}) {
        far.fill(0, 7);
        far.fill(1, 0);
        const TensorRecord from = far.tensor(0, 0, 16), to = far.tensor(1, at, 16);
        expect(far.host.call<BufferCpyTensorReply>(Call::buffer_cpy_tensor, BufferCpyTensorRequest{to.buffer, from, to}).copied, "copied");
        expect(far.holds(to, 0, 64, 7), "the copy at " + std::to_string(at));
    }
    auto copied = [&](const TensorRecord &from, const TensorRecord &to) {
        return far.host.call<BufferCpyTensorReply>(Call::buffer_cpy_tensor, BufferCpyTensorRequest{to.buffer, from, to}).copied;
    };
    const TensorRecord one = far.tensor(0, 0, 16);
    expect(!copied(one, far.tensor(0, 16, 16)), "overlapping");
    TensorRecord other = far.tensor(1, 0, 16);
    other.type = GGML_TYPE_I32;
    expect(!copied(one, other), "another type");
    other.type = one.type, other.nb[1] += 4;
    expect(!copied(one, other), "other strides");
}

// What will not be computed for where it lies is not said to be supported.
void places() {
    Far far;
    const uint32_t n = 64;
    auto is_computed = [&](ggml_op op, uint64_t offset) {
        Graph graph;
        graph.tensors = {far.tensor(0, 0, 4 * n), far.tensor(0, offset, n), far.tensor(1, 0, n)};
        TensorRecord *t = graph.tensors.data();
        t[1].op = GGML_OP_VIEW, t[1].src[0] = t[1].view_src = t[0].id, t[1].view_offs = offset;
        t[2].op = op, t[2].src[0] = t[1].id, t[2].flags = static_cast<int32_t>(tensor_flag_compute);
        if (op == GGML_OP_ARGSORT) t[2].type = GGML_TYPE_I32;
        graph.nodes = {t[1].id, t[2].id};
        const auto told = [](auto record, const TensorRecord &tensor) {
            record.type = tensor.type, record.op = tensor.op, record.view_offs = tensor.view_offs;
            std::copy(std::begin(tensor.ne), std::end(tensor.ne), record.ne);
            std::copy(std::begin(tensor.nb), std::end(tensor.nb), record.nb);
            return record;
        };
        OpRecord asked;
        asked.tensor = told(RawTensor{}, t[2]), asked.src[0] = told(RawTensor{}, t[1]);
        asked.tensor.src[0] = 1;
        WideTensorRecord node = told(WideTensorRecord{}, t[2]), source = told(WideTensorRecord{}, t[1]);
        node.id = 1, node.src[0] = source.id = 2;
        const bool computed = far.compute(graph) == ok;
        const bool wide_too = far.host.call<WideSupportsOpReply>(Call::wide_supports_op, WideSupportsOpRequest{{node, source}}).supported;
        const bool supported = far.host.call<DeviceSupportsOpReply>(Call::device_supports_op, DeviceSupportsOpRequest{asked}).supported;
        expect(supported == computed && wide_too == computed, "both questions, and the graph, at " + std::to_string(offset));
        return computed;
    };
    for (uint64_t offset : {0, 32, 96, 128}) expect(is_computed(GGML_OP_ARGSORT, offset), "an op that asserts alignment, of what is aligned");
    for (uint64_t offset : {4, 16, 132}) expect(!is_computed(GGML_OP_ARGSORT, offset), "of what is not");
    expect(is_computed(GGML_OP_SQR, 132) && !is_computed(GGML_OP_SQR, 130), "one that steps over whole elements");

    WideTensorRecord made, source;
    for (WideTensorRecord *each : {&made, &source})
        for (int i = 0; i < 4; ++i) each->ne[i] = 1, each->nb[i] = 4;
    made.id = 1, made.op = GGML_OP_SQR, made.src[0] = source.id = 2;
    auto supported = [&] { return far.host.call<WideSupportsOpReply>(Call::wide_supports_op, WideSupportsOpRequest{{made, source}}).supported; };
    made.view_src = 2;
    expect(supported(), "an op in place");
    made.view_offs = 2;
    expect(!supported(), "in another place, between elements");
    made.op = GGML_OP_VIEW;
    expect(supported(), "a view computes nothing");
    made.op = GGML_OP_SQR, made.ne[0] = source.ne[0] = 0;
    expect(supported(), "nothing lies nowhere");
}

// What the device cannot do is not tried.
void refused() {
    Far far;
    expect_equal(new_buffer(far.host, uint64_t{41} << 20), uint64_t{0}, "a buffer that is larger than any of its");
    expect_equal(far.host.code(Call::device_buffer_from_ptr, DeviceBufferFromPtrRequest{3, 4096, 4096}), failed, "a buffer of shared memory");
    WideTensorRecord made, source;
    auto supported = [&](ggml_op op) {
        for (WideTensorRecord *each : {&made, &source})
            for (int i = 0; i < 4; ++i) each->ne[i] = 1, each->nb[i] = 4;
        made.id = 1, made.op = op, made.src[0] = source.id = 2;
        return far.host.call<WideSupportsOpReply>(Call::wide_supports_op, WideSupportsOpRequest{{made, source}}).supported;
    };
    expect(supported(GGML_OP_SQR) && !supported(GGML_OP_SQRT), "the device says what it supports");
    made.op = GGML_OP_SQR, made.src[0] = 0;
    WideGetAllocSizeRequest alone{device_buffer_type(far.host), {made}};
    expect_equal(far.host.call<WideGetAllocSizeReply>(Call::wide_get_alloc_size, alone).size, uint64_t{4}, "the size of an op that lacks what the device would look at");
}

void graphs() {
    Far far;
    Graph graph;
    graph.tensors = {far.tensor(0, 0, 16), far.tensor(0, 0, 16), far.tensor(0, 64, 16)};
    TensorRecord *t = graph.tensors.data();
    t[1].view_src = 1, t[1].op = GGML_OP_VIEW, t[1].src[0] = 1;
    t[2].op = GGML_OP_SQR, t[2].src[0] = 2, t[2].flags = static_cast<int32_t>(tensor_flag_compute);
    graph.nodes = {2, 3};
    expect_equal(far.compute(graph), ok, "a graph");
    t[1].buffer = far.buffers[1];
    expect_equal(far.compute(graph), failed, "a view of what is in another buffer, at the same address");
    t[1].buffer = far.buffers[0];
    t[2].name[0] = '!';
    expect_equal(far.compute(graph), failed, "a tensor that the device cannot initialise");
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"facts", facts}, {"data", data}, {"copies", copies}, {"places", places}, {"refused", refused}, {"graphs", graphs}}, count > 1 ? values[1] : nullptr);
}
