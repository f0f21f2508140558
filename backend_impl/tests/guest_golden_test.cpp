// The guest library does what the recorded program did: its commands have to be the recorded ones, byte for byte, but for
// what is free to differ (ids, stale bytes, order of records in a graph, the pointers of an in-line op).
#include <algorithm>
#include <cstring>
#include <numeric>

#include "guest_fake.hpp"
#include "guest_golden_vectors.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

// Answers each call as the recorded host did.
class RecordedHost : public ScriptedHost {
  public:
    template <size_t N> explicit RecordedHost(const RecordedCommand (&commands)[N]) {
        version = {0, 1};
        for (const RecordedCommand &command : commands) {
            if (command.call < 0) continue;
            // Data goes through the buffers of ScriptedHost; the recorded handles are numbers like any others.
            bool data = command.call == 17 || command.call == 18;
            if (!data) answer(static_cast<Call>(command.call), from_hex(command.reply));
            if (data) answer(static_cast<Call>(command.call), {});
        }
        answer(Call::buffer_free_buffer, {});
        answer(Call::backend_graph_compute, from_hex("00000000"));
    }
};

// The recorded program: buffer of 0x1c0 bytes, cleared, tensors set, a graph, read, copied, freed.
class Program {
  public:
    explicit Program(Registry &registry)
        : device_(registry.device()), context_(ggml_init({size_t{1} << 20, nullptr, true}), ggml_free),
          buffer_(ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(device_), 0x1c0)) {
        expect(buffer_ != nullptr, "no buffer");
        ggml_backend_buffer_clear(buffer_, 0x5a);
        a_ = placed(ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, 8, 4), "a", 0);
        b_ = placed(ggml_new_tensor_2d(context_.get(), GGML_TYPE_F32, 8, 4), "b", 0x80);
        q_ = placed(ggml_new_tensor_2d(context_.get(), GGML_TYPE_Q4_0, 32, 2), "q", 0x100);
    }
    ~Program() { ggml_backend_buffer_free(buffer_); }

    void run() {
        std::vector<float> numbers(32);
        std::iota(numbers.begin(), numbers.end(), 1.0F);
        std::vector<uint8_t> bytes(36);
        std::iota(bytes.begin(), bytes.end(), uint8_t{0});
        ggml_backend_tensor_set(a_, numbers.data(), 0, 128);
        ggml_backend_tensor_set(b_, numbers.data(), 0, 128);
        ggml_backend_tensor_set(b_, numbers.data(), 12, 20);
        ggml_backend_tensor_set(q_, bytes.data(), 0, 36);
        expect(ggml_backend_buffer_get_alloc_size(buffer_, q_) == 36, "alloc size");
        compute();
        ggml_backend_tensor_get(result_, numbers.data(), 0, 64);
        ggml_backend_tensor_copy(a_, b_);
        ggml_backend_tensor_get(b_, numbers.data(), 4, 12);
    }

  private:
    ggml_tensor *placed(ggml_tensor *tensor, const char *name, size_t offset) {
        if (name != nullptr) ggml_set_name(tensor, name);
        auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer_));
        ggml_status status = tensor->view_src != nullptr ? ggml_backend_view_init(tensor)
                                                         : ggml_backend_tensor_alloc(buffer_, tensor, base + offset);
        expect(status == GGML_STATUS_SUCCESS, "tensor placed");
        return tensor;
    }

    void compute() {
        ggml_context *context = context_.get();
        ggml_tensor *view = placed(ggml_view_2d(context, a_, 8, 2, 32, 32), "v", 0);
        ggml_tensor *scaled = placed(ggml_scale(context, view, 3.0F), "s", 0x140);
        ggml_tensor *other = placed(ggml_view_2d(context, b_, 8, 2, 32, 0), nullptr, 0);
        result_ = placed(ggml_add(context, scaled, other), "r", 0x180);
        ggml_cgraph *graph = ggml_new_graph(context);
        ggml_build_forward_expand(graph, result_);
        ggml_backend_t backend = ggml_backend_dev_init(device_, nullptr);
        expect(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS, "graph");
        ggml_backend_free(backend);
    }

    ggml_backend_dev_t device_;
    std::unique_ptr<ggml_context, decltype(&ggml_free)> context_;
    ggml_backend_buffer_t buffer_;
    ggml_tensor *a_ = nullptr;
    ggml_tensor *b_ = nullptr;
    ggml_tensor *q_ = nullptr;
    ggml_tensor *result_ = nullptr;
};

template <typename Message> std::string bytes_of(const Message &message) {
    std::vector<uint8_t> bytes(8192);
    Writer writer(bytes.data(), bytes.size());
    write(writer, message);
    bytes.resize(writer.size());
    return hex(bytes);
}

// What is left of a record in calls 17 to 19 when the id and what dangles are taken away.
void plain(TensorRecord &record) {
    record.id = 1;
    std::fill(std::begin(record.src), std::end(record.src), 0);
    record.view_src = 0;
    record.view_offs = 0;
}

// Decodes the payload behind the header, evens out what is free to differ, encodes it again.
template <typename Request, typename Even> std::string evened(const std::vector<uint8_t> &command, Even even) {
    Reader reader(command.data() + 12, command.size() - 12);
    Request request;
    bool whole = read(reader, request) && reader.finished();
    expect(whole, "a command does not decode");
    even(request);
    return hex({command.begin(), command.begin() + 12}) + bytes_of(request);
}

std::string canonical(int call, const std::vector<uint8_t> &command) {
    switch (call) {
    case 15:
        return evened<BufferTypeGetAllocSizeRequest>(command, [](auto &request) {
            request.op.tensor.buffer = request.op.tensor.data = request.op.handle = 0;
        });
    case 20: return evened<BufferClearRequest>(command, [](auto &) {});
    case 17: return evened<BufferSetTensorRequest>(command, [](auto &request) { plain(request.tensor); });
    case 18: return evened<BufferGetTensorRequest>(command, [](auto &request) { plain(request.tensor); });
    case 19:
        return evened<BufferCpyTensorRequest>(command, [](auto &request) {
            plain(request.source);
            plain(request.destination);
        });
    default: return hex(command);
    }
}

// A graph with names in the place of ids, its records sorted.
std::string canonical_graph(const std::vector<uint8_t> &bytes) {
    Reader reader(bytes.data(), bytes.size());
    Graph graph;
    bool whole = read(reader, graph) && reader.finished();
    expect(whole, "a graph does not decode");
    std::map<uint64_t, std::string> names{{0, "-"}};
    for (const TensorRecord &record : graph.tensors) names[record.id] = record.name;
    expect(names.size() == graph.tensors.size() + 1, "ids or names are not unique");
    std::vector<std::string> lines;
    for (TensorRecord record : graph.tensors) {
        std::string links = names.at(record.view_src);
        for (uint64_t &source : record.src) links += "," + names.at(std::exchange(source, 0));
        record.id = record.view_src = 0;
        lines.push_back(links + " " + bytes_of(record));
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (uint64_t node : graph.nodes) text += names.at(node) + " ";
    for (const std::string &line : lines) text += "\n" + line;
    return text;
}

template <size_t N> std::vector<std::string> recorded(const RecordedCommand (&commands)[N], int call) {
    std::vector<std::string> found;
    for (const RecordedCommand &command : commands) {
        if (command.call == call) found.push_back(canonical(call, from_hex(command.command)));
    }
    return found;
}

template <size_t N> void compare(const std::string &what, RecordedHost &host, const RecordedCommand (&commands)[N]) {
    for (int call = 0; call <= 22; ++call) {
        std::vector<std::string> theirs = recorded(commands, call);
        std::vector<std::string> ours;
        for (const auto &command : host.sent(static_cast<Call>(call))) ours.push_back(canonical(call, command));
        // The recorded guest asked for props twice, and for memory at start; ours asks once, and when it is asked.
        if (call == 8) theirs.resize(std::min<size_t>(theirs.size(), 1));
        if (call == 21 && theirs.empty()) continue;
        // libggml-base 0.27 asks for the size of each tensor that is placed; theirs answered all but one by itself.
        if (call == 15) ours.erase(std::remove_if(ours.begin(), ours.end(), [&](auto &one) { return one != theirs[0]; }), ours.end());
        expect(ours == theirs, what + ": " + call_name(static_cast<uint32_t>(call)) + " differs: " + std::to_string(ours.size()) +
                                   " commands, recorded " + std::to_string(theirs.size()) +
                                   (ours.empty() || theirs.empty() ? "" : "\n  " + ours[0] + "\n  " + theirs[0]));
    }
    for (const RecordedCommand &command : commands) {
        if (command.call != 22) continue;
        expect(canonical_graph(host.data_seen) == canonical_graph(from_hex(command.graph)), what + ": the graph differs");
    }
    std::vector<std::vector<uint8_t>> all = host.all();
    expect(hex(all[0]) == commands[0].command, what + ": handshake differs");
    expect(hex(all[1]) == commands[1].command, what + ": load library differs");
}

template <size_t N> void play(const std::string &what, const RecordedCommand (&commands)[N]) {
    RecordedHost host(commands);
    host.script(Call::backend_graph_compute, [&host](Reader &reader, Writer &writer) {
        BackendGraphComputeRequest request;
        read(reader, request);
        host.remember(request.resource, request.size);
        writer.i32(0);
        return ScriptedHost::ok;
    });
    CapturedLog log;
    std::unique_ptr<Registry> registry = set_up(host);
    expect(registry->devices.size() == 1, what + ": no device");
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    ggml_backend_dev_memory(registry->device(), &free_bytes, &total_bytes);
    Program(*registry).run();
    expect(log.text().empty(), what + ": a host without extensions is nothing to be told of: " + log.text());
    compare(what, host, commands);
}

void test_apir_capset() {
    Variable capset("GGML_REMOTING_USE_APIR_CAPSET", "");
    ScriptedHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    std::vector<std::vector<uint8_t>> all = host.all();
    expect(hex(all[0]) == "0000000000000000030000000000000002000000", "handshake on the APIR capset");
    expect(hex(all[1]) == "010000000000000003000000", "load library on the APIR capset");
    expect(hex(host.sent(Call::device_get_name)[0]) == "020000000200000003000000", "a call on the APIR capset");
}

} // namespace

int main() {
    // What is sent when a buffer is freed: none is kept for the next one.
    Variable no_pool("GGML_VIRTGPU_BUFFER_POOL_MIB", "0");
    // One call after the other, as the recorded guest made them.
    Variable all_awaited("GGML_VIRTGPU_WRITE_BEHIND", "off");
    play("copied", recorded_copied);
    play("shared", recorded_shared);
    test_apir_capset();
    return failures();
}
