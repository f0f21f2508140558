// Buffers, tensors, ops and graphs against a scripted host: what goes over, and that it comes back.
#include "guest/tensor_encoding.hpp"
#include "guest_bench.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

std::vector<uint8_t> counted(size_t size) {
    std::vector<uint8_t> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
    return bytes;
}

void test_rows(const std::string &what, ggml_tensor *a) {
    std::vector<uint8_t> in = counted(1000);
    std::vector<uint8_t> out(1000);
    ggml_backend_tensor_memset(a, 0, 0, 1000);
    ggml_backend_tensor_set_2d(a, in.data(), 8, 4, 3, 16, 10); // 4 bytes each at 8, 24, 40 from 0, 10, 20
    ggml_backend_tensor_get(a, out.data(), 0, 64);
    expect(out[8] == in[0] && out[11] == in[3] && out[12] == 0 && out[24] == in[10] && out[43] == in[23] && out[44] == 0,
           what + ": set in rows");
    std::fill(out.begin(), out.end(), uint8_t{0xee});
    ggml_backend_tensor_get_2d(a, out.data(), 8, 4, 3, 16, 10);
    expect(out[0] == in[0] && out[3] == in[3] && out[4] == 0xee && out[10] == in[10] && out[23] == in[23] && out[24] == 0xee,
           what + ": get in rows");
    ggml_backend_tensor_set_2d(a, in.data(), 0, 50, 20, 50, 50);
    ggml_backend_tensor_get_2d(a, out.data(), 0, 50, 20, 50, 50);
    expect(out == in, what + ": rows side by side");
    // On one side only.
    ggml_backend_tensor_memset(a, 0, 0, 1000);
    ggml_backend_tensor_set_2d(a, in.data(), 0, 4, 3, 16, 4);
    ggml_backend_tensor_get(a, out.data(), 0, 64);
    expect(out[3] == in[3] && out[4] == 0 && out[16] == in[4] && out[35] == in[11], what + ": from side by side");
    ggml_backend_tensor_set(a, in.data(), 0, 1000);
    std::fill(out.begin(), out.end(), uint8_t{0xee});
    ggml_backend_tensor_get_2d(a, out.data(), 0, 4, 3, 4, 10);
    expect(out[3] == in[3] && out[4] == 0xee && out[10] == in[4] && out[23] == in[11], what + ": of side by side");
}

// Everything that a buffer can do, whichever way its bytes go.
void test_buffer(const std::string &what, bool takes_pointers) {
    ScriptedHost host;
    host.takes_pointers = takes_pointers;
    Bench bench(host);
    Context memory = context();
    Buffer buffer = bench.buffer(4096);
    ggml_tensor *a = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 1000), 0);
    ggml_tensor *b = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 1000), 1024);
    std::vector<uint8_t> in = counted(1000);
    std::vector<uint8_t> out(1000);

    ggml_backend_buffer_clear(buffer.get(), 0x11);
    ggml_backend_tensor_get(b, out.data(), 0, 1000);
    expect(out == std::vector<uint8_t>(1000, 0x11), what + ": clear");
    ggml_backend_tensor_set(a, in.data(), 0, 1000);
    ggml_backend_tensor_get(a, out.data(), 0, 1000);
    expect(out == in, what + ": set and get");
    expect(host.held(1, 0, 1000) == in && host.held(1, 1000, 1)[0] == 0x11, what + ": the host has other bytes");
    ggml_backend_tensor_set(a, in.data() + 500, 10, 20);
    ggml_backend_tensor_get(a, out.data(), 10, 20);
    expect(std::equal(out.begin(), out.begin() + 20, in.begin() + 500), what + ": set and get of a part");
    ggml_backend_tensor_copy(a, b);
    ggml_backend_tensor_get(b, out.data(), 10, 20);
    expect(std::equal(out.begin(), out.begin() + 20, in.begin() + 500), what + ": copy");
    expect(host.sent(Call::buffer_cpy_tensor).size() == 1, what + ": the copy was not made on the host");
    ggml_backend_tensor_memset(a, 0x22, 100, 50);
    ggml_backend_tensor_get(a, out.data(), 99, 52);
    expect(out[0] == in[99] && out[1] == 0x22 && out[50] == 0x22 && out[51] == in[150], what + ": memset of a part");

    test_rows(what, a);
    ggml_backend_buffer_reset(buffer.get());
    bool shared = host.sent(Call::device_buffer_from_ptr).size() == 1 && host.sent(Call::buffer_set_tensor).empty();
    expect(shared == takes_pointers, what + ": the data went the other way");
}

// Blobs of freed buffers are used again, large ones are closed; both only when the host has freed its buffer.
void test_shared_life() {
    ScriptedHost host;
    host.takes_pointers = true;
    Bench bench(host);
    size_t before = host.open_blobs();
    for (int i = 0; i < 600; ++i) bench.buffer(100000); // of more bytes than are kept, all together
    expect(host.open_blobs() == before + 1, "blobs of freed buffers are not used again");
    expect(host.events().size() == 600, "a small blob is closed");
    { Buffer two[] = {bench.buffer(100000), bench.buffer(90000)}; }
    expect(host.open_blobs() == before + 2, "two buffers share a blob, or more than two blobs are there");
    bench.buffer(size_t{100} << 20);
    std::vector<std::string> events = host.events();
    expect(events[events.size() - 2].substr(0, 4) == "free" && events.back().substr(0, 5) == "close",
           "a blob is closed before the host's buffer is freed");
    expect(host.open_blobs() == before + 2, "a large blob is kept, or pushes out small ones");
    std::vector<Buffer> many;
    for (int i = 0; i < 100; ++i) many.push_back(bench.buffer(size_t{2} << 20));
    many.clear();
    expect(host.open_blobs() <= before + 32, "more is kept than the bound allows");
}

void test_full_window() {
    ScriptedHost host;
    host.takes_pointers = true;
    DevicePlan plan;
    plan.window = data_page_size + size_t{10} * blob_granularity;
    Bench bench(host, plan);
    std::vector<Buffer> buffers;
    for (int i = 0; i < 20; ++i) {
        buffers.push_back(bench.buffer(blob_granularity));
        expect(buffers.back() != nullptr, "no buffer when the window is full");
    }
    expect(host.sent(Call::buffer_type_alloc_buffer).size() > 10, "a full window does not lead to the copied path");
    Context memory = context();
    ggml_tensor *tensor = bench.placed(buffers.back(), ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, 100), 0);
    std::vector<uint8_t> in = counted(100);
    std::vector<uint8_t> out(100);
    ggml_backend_tensor_set(tensor, in.data(), 0, 100);
    ggml_backend_tensor_get(tensor, out.data(), 0, 100);
    expect(in == out, "data through a copied buffer when the window is full");
}

void test_data_path_variable() {
    Variable path("GGML_VIRTGPU_DATA_PATH", "copied");
    ScriptedHost host;
    host.takes_pointers = true;
    Bench bench(host);
    expect(bench.buffer(64) != nullptr && host.sent(Call::device_buffer_from_ptr).empty(), "GGML_VIRTGPU_DATA_PATH=copied");
}

void test_large_transfer() {
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    const size_t size = data_page_size * 2 + 12345;
    Buffer buffer = bench.buffer(size);
    ggml_tensor *tensor = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I8, size), 0);
    std::vector<uint8_t> in = counted(size);
    std::vector<uint8_t> out(size);
    ggml_backend_tensor_set(tensor, in.data(), 0, size);
    ggml_backend_tensor_get(tensor, out.data(), 0, size);
    expect(in == out, "a transfer beyond the data page");
    expect(host.sent(Call::buffer_set_tensor).size() == 13, "a transfer of two data pages and a bit is not thirteen calls");
}

void test_support_is_cached() {
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    ggml_backend_dev_t device = bench.registry->device();
    ggml_tensor *a = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 8, 4);
    for (int i = 0; i < 3; ++i) ggml_backend_dev_supports_op(device, ggml_add(memory.get(), a, a));
    expect(host.sent(Call::device_supports_op).size() == 1, "the same op is asked for again");
    ggml_backend_dev_supports_op(device, ggml_scale(memory.get(), a, 2.0F));
    ggml_backend_dev_supports_op(device, ggml_scale(memory.get(), a, 3.0F));
    ggml_tensor *half = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F16, 8, 4);
    ggml_backend_dev_supports_op(device, ggml_add(memory.get(), a, half));
    expect(host.sent(Call::device_supports_op).size() == 4, "another op is not asked for");
}

void count_calls(ggml_tensor *, const ggml_tensor *, int, int, void *) {}
void count_calls_of_all(ggml_tensor *, int, int, void *) {}

// A function of the program's own: whatever the host says of it, it is neither asked nor told where it stands.
void test_functions_of_the_program() {
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    Buffer buffer = bench.buffer(4096);
    ggml_tensor *a = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_F32, 16), 0);
    ggml_tensor *mapped = bench.placed(buffer, ggml_map_custom1(memory.get(), a, count_calls, 1, nullptr), 64);
    ggml_tensor *sources[] = {a};
    ggml_tensor *custom = ggml_custom_4d(memory.get(), GGML_TYPE_F32, 16, 1, 1, 1, sources, 1, count_calls_of_all, 1, nullptr);
    for (ggml_tensor *each : {mapped, custom}) expect(!ggml_backend_dev_supports_op(bench.registry->device(), each), "a function of the program's is offered to the host");
    expect(host.sent(Call::device_supports_op).empty(), "the host is asked for a function of the program's");
    const OpRecord question = op_record_of(ggml_sqr(memory.get(), mapped));
    for (int32_t word : question.src[0].op_params) expect(word == 0, "a question tells where a function of the program's is");
    const std::optional<TensorRecord> record = record_of<TensorRecord>(mapped);
    for (int32_t word : record->op_params) expect(word == 0, "a record tells where a function of the program's is");
    ggml_cgraph *graph = ggml_new_graph(memory.get());
    ggml_build_forward_expand(graph, mapped);
    Backend backend{ggml_backend_dev_init(bench.registry->device(), nullptr), ggml_backend_free};
    CapturedLog log;
    expect(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_FAILED, "a function of the program's is computed on the host");
    expect(log.text().find("is a function of the program, which no host can call") != std::string::npos, "the log does not say why");
    expect(host.sent(Call::backend_graph_compute).empty(), "its graph is sent");
}

// Weights of the same shape are asked for once, whatever their names; the op of a weight with another name anew.
void test_names() {
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    for (const char *name : {"blk.0.weight", "blk.1.weight", "blk.2.weight"}) {
        ggml_tensor *weight = ggml_set_name(ggml_new_tensor_2d(memory.get(), GGML_TYPE_Q4_0, 32, 2), name);
        expect(ggml_backend_buft_get_alloc_size(bench.buft(), weight) == 36, "alloc size of a weight");
        ggml_backend_dev_supports_op(bench.registry->device(), ggml_scale(memory.get(), weight, 2.0F));
    }
    expect(host.sent(Call::buffer_type_get_alloc_size).size() == 1, "sizes are asked for by name");
    expect(host.sent(Call::device_supports_op).size() == 3, "support is not asked for by a weight's name");
}

// libggml takes no more than a tensor's own bytes for most ops' results: nobody has to be asked.
void test_sizes_not_asked_for() {
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    ggml_tensor *a = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 32, 2);
    expect(ggml_backend_buft_get_alloc_size(bench.buft(), ggml_add(memory.get(), a, a)) == 256, "alloc size of a sum");
    const size_t asked = host.sent(Call::buffer_type_get_alloc_size).size();
    expect(asked == (APIR_GGML_API < 3 ? 1U : 0U), "the host is asked for a size that libggml would abort on");
    ggml_tensor *ids = ggml_new_tensor_2d(memory.get(), GGML_TYPE_I32, 2, 2);
    ggml_tensor *experts = ggml_new_tensor_3d(memory.get(), GGML_TYPE_F32, 32, 8, 4);
    ggml_tensor *b = ggml_new_tensor_3d(memory.get(), GGML_TYPE_F32, 32, 2, 2);
    ggml_backend_buft_get_alloc_size(bench.buft(), ggml_mul_mat_id(memory.get(), experts, b, ids));
    ggml_backend_buft_get_alloc_size(bench.buft(), a);
    expect(host.sent(Call::buffer_type_get_alloc_size).size() == asked + 2, "sizes of what may need more are not asked for");
}

// No pointer of the guest gets into calls 6 and 15.
void test_op_bytes() {
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    Buffer buffer = bench.buffer(4096);
    ggml_tensor *a = bench.placed(buffer, ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 8, 4), 0);
    ggml_tensor *view = ggml_view_2d(memory.get(), a, 8, 2, 32, 32);
    expect(ggml_backend_view_init(view) == GGML_STATUS_SUCCESS, "view");
    ggml_tensor *sum = ggml_soft_max_ext(memory.get(), view, nullptr, 1.0F, 0.0F);
    ggml_soft_max_add_sinks(sum, ggml_new_tensor_1d(memory.get(), GGML_TYPE_F32, 1));
    ggml_backend_dev_supports_op(bench.registry->device(), sum);
    ggml_backend_dev_supports_op(bench.registry->device(), view);
    for (const auto &command : host.sent(Call::device_supports_op)) {
        Reader reader(command.data() + 12, command.size() - 12);
        DeviceSupportsOpRequest request;
        expect(read(reader, request) && reader.finished(), "call 6 does not decode");
        const OpRecord &op = request.op;
        expect(op.tensor.buffer == 0 && op.tensor.data == 0 && op.tensor.extra == 0, "the op's pointers");
        expect(op.source_count() == 1 && op.tensor.src[0] == 1 && op.tensor.src[2] == 0, "sources up to the first missing one");
        const RawTensor &source = op.src[0];
        expect(source.buffer == 0 && source.data == 0 && source.src[0] == 0 && source.view_src == 0, "a source's pointers");
    }
}

void test_32_bit() {
    ScriptedHost host;
    Bench bench(host);
    Context memory = context();
    ggml_tensor *huge = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, int64_t{1} << 31, 4);
    ggml_tensor *fits = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 8, 4);
    expect(!fits_record(huge) && fits_record(fits), "32 bits");
    expect(!ggml_backend_dev_supports_op(bench.registry->device(), ggml_scale(memory.get(), huge, 2.0F)), "an op beyond 32 bits");
    ggml_tensor *view = ggml_view_1d(memory.get(), huge, 8, 0);
    expect(!ggml_backend_dev_supports_op(bench.registry->device(), view), "a view of a tensor beyond 32 bits");
    expect(host.sent(Call::device_supports_op).empty(), "a truncated op was sent");

    Buffer buffer = bench.buffer(4096);
    bench.placed(buffer, fits, 0);
    ggml_tensor *scaled = bench.placed(buffer, ggml_scale(memory.get(), fits, 2.0F), 1024);
    scaled->nb[3] = size_t{1} << 33;
    ggml_cgraph *graph = ggml_new_graph(memory.get());
    ggml_build_forward_expand(graph, scaled);
    CapturedLog log;
    Backend backend = bench.backend();
    expect(ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_FAILED, "a graph beyond 32 bits");
    expect(log.has("beyond 32 bits"), "it is refused without the reason");
    expect(host.sent(Call::backend_graph_compute).empty(), "a truncated graph was sent");
}

void test_graph_status() {
    ScriptedHost host;
    Bench bench(host);
    Doubling doubling(bench);
    const std::pair<const char *, ggml_status> answers[] = {{"00000000", GGML_STATUS_SUCCESS},
                                                            {"ffffffff", GGML_STATUS_FAILED},
                                                            {"feffffff", GGML_STATUS_ALLOC_FAILED},
                                                            {"01000000", GGML_STATUS_ABORTED},
                                                            {"39300000", GGML_STATUS_FAILED}};
    for (const auto &[payload, status] : answers) {
        host.answer(Call::backend_graph_compute, from_hex(payload));
        expect(doubling.compute() == status, std::string("graph status ") + payload);
    }
    CapturedLog log;
    ggml_tensor *elsewhere = ggml_new_tensor_1d(doubling.memory.get(), GGML_TYPE_F32, 8);
    Buffer foreign{ggml_backend_buft_alloc_buffer(ggml_backend_cpu_buffer_type(), 64), ggml_backend_buffer_free};
    ggml_backend_tensor_alloc(foreign.get(), elsewhere, ggml_backend_buffer_get_base(foreign.get()));
    ggml_tensor *mixed = bench.placed(doubling.buffer, ggml_add(doubling.memory.get(), doubling.a, elsewhere), 2048);
    ggml_cgraph *other = ggml_new_graph(doubling.memory.get());
    ggml_build_forward_expand(other, mixed);
    expect(ggml_backend_graph_compute(doubling.backend.get(), other) == GGML_STATUS_FAILED, "a graph that reads foreign memory");
    expect(log.has("not in a buffer of this device"), "it is refused without the reason");
}

// A graph that is known again is not encoded again: its bytes are those of the last time, a leaf's name included. Any field that is computed
// with makes it another one.
void test_known_graph() {
    ScriptedHost host;
    Bench bench(host);
    Doubling doubling(bench);
    host.script(Call::backend_graph_compute, [&host](Reader &reader, Writer &writer) {
        BackendGraphComputeRequest request;
        expect(read(reader, request), "a graph's request");
        host.remember(request.resource, request.size);
        writer.i32(0);
        return ScriptedHost::ok;
    });
    auto sent = [&](const char *name) {
        ggml_set_name(doubling.a, name);
        host.data_seen.clear();
        expect(doubling.compute() == GGML_STATUS_SUCCESS, std::string("a graph of ") + name);
        return host.data_seen;
    };
    const std::vector<uint8_t> first = sent("first");
    expect(!first.empty(), "no graph was sent");
    expect(sent("second") == first, "a graph that is known was encoded again");
    doubling.sum->op_params[3] = 1;
    expect(sent("third") != first, "a graph with another parameter was taken for the one before");
    doubling.sum->op_params[3] = 0;
    expect(sent("fourth") == first, "a graph that has changed back is not the one before");

    // In turns with one that differs in a parameter.
    ggml_tensor *halved = bench.placed(doubling.buffer, ggml_scale(doubling.memory.get(), doubling.a, 0.5F), 2048);
    ggml_cgraph *both = ggml_new_graph(doubling.memory.get());
    ggml_build_forward_expand(both, doubling.sum);
    ggml_build_forward_expand(both, halved);
    std::swap(doubling.graph, both);
    const std::vector<uint8_t> longer = sent("fifth");
    doubling.sum->op_params[3] = 2;
    const std::vector<uint8_t> changed = sent("sixth");
    for (int round = 0; round < 2; ++round) {
        doubling.sum->op_params[3] = 0;
        expect(sent("seventh") == longer, "the one of two graphs in turns was encoded again");
        doubling.sum->op_params[3] = 2;
        expect(sent("eighth") == changed, "the other one was");
    }
}

// Weights in the guest's memory are carried to a GPU for many rows, and never to the host's processor.
void test_offload() {
    for (const bool gpu : {false, true}) {
        ScriptedHost host;
        if (gpu) host.script(Call::device_get_type, [](Reader &, Writer &writer) {
            write(writer, DeviceGetTypeReply{static_cast<uint32_t>(DeviceType::gpu)});
            return ScriptedHost::ok;
        });
        Bench bench(host);
        Context memory = context();
        ggml_tensor *weight = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 8, 64);
        auto offloads = [&](ggml_tensor *op) { return ggml_backend_dev_offload_op(bench.registry->device(), op); };
        auto product = [&](int64_t rows) { return ggml_mul_mat(memory.get(), weight, ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 8, rows)); };
        expect(offloads(product(32)) == gpu && !offloads(product(31)), "a product of 32 rows, and of 31");
        expect(!offloads(ggml_get_rows(memory.get(), weight, ggml_new_tensor_1d(memory.get(), GGML_TYPE_I32, 64))), "rows that are looked up");
    }
}

} // namespace

int main() {
    // What is sent when a buffer is freed: none is kept for the next one.
    Variable no_pool("GGML_VIRTGPU_BUFFER_POOL_MIB", "0");
    test_buffer("copied", false);
    test_buffer("shared", true);
    test_shared_life();
    test_full_window();
    test_data_path_variable();
    test_large_transfer();
    test_support_is_cached();
    test_functions_of_the_program();
    test_names();
    test_sizes_not_asked_for();
    test_op_bytes();
    test_32_bit();
    test_graph_status();
    test_known_graph();
    test_offload();
    return failures();
}
