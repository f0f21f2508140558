// Four threads on one context: calls are carried out one after the other, whoever makes them.
//
//   host-threads HOST-LIBRARY GGML-LIBRARY ROUNDS
//
// Each thread makes buffers, writes its own number into them, computes on them, reads them back and frees them, and is refused a handle
// of its own invention. A library that does two of these at a time answers with another thread's bytes, or dies: then the last line says
// so. Built with ThreadSanitizer it also dies of what did not go wrong this time.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <apir_gen.hpp>
#include <ggml.h>

#include "host/callbacks.hpp"
#include "supervise.hpp"

using namespace apir;
using namespace apir::fuzz;

namespace {

constexpr uint32_t context = 1;
constexpr int threads = 4;
constexpr uint64_t data_bytes = 65536;

const char *ggml_library = nullptr;
std::vector<uint8_t> data[threads]; // resource n + 1

const char *get_config(uint32_t, const char *key) {
    if (std::strcmp(key, "ggml.library.path") == 0) return ggml_library;
    if (std::strcmp(key, "ggml.threads") == 0) return "1";
    return std::strncmp(key, "apir.resource.size.", 19) == 0 ? "65536" : nullptr;
}

void *get_shmem_ptr(uint32_t, uint32_t resource) { return resource >= 1 && resource <= threads ? data[resource - 1].data() : nullptr; }

using Dispatcher = uint32_t (*)(uint32_t, apir_callbacks *, uint32_t, char *, const char *, char *, const char *, char **);

struct Caller {
    Dispatcher dispatcher;
    uint32_t resource;

    template <typename Reply, typename Request> bool call(Call number, const Request &request, Reply &reply) {
        static apir_callbacks callbacks{get_config, get_shmem_ptr};
        char sent[2048] = {}, got[2048] = {};
        char *after = nullptr;
        Writer writer(sent, sizeof sent);
        write(writer, request);
        if (dispatcher(context, &callbacks, static_cast<uint32_t>(number), sent, sent + writer.size(), got, got + sizeof got, &after) != 0) return false;
        Reader reader(got, static_cast<size_t>(after - got));
        return read(reader, reply);
    }
};

TensorRecord numbers(uint64_t id, uint64_t buffer, uint64_t at) {
    TensorRecord tensor;
    tensor.id = id, tensor.type = GGML_TYPE_F32, tensor.buffer = buffer, tensor.data = at;
    tensor.ne[0] = 64, tensor.ne[1] = tensor.ne[2] = tensor.ne[3] = 1;
    tensor.nb[0] = 4, tensor.nb[1] = tensor.nb[2] = tensor.nb[3] = 256;
    return tensor;
}

// Twice the thread's number, computed by the host.
bool round(Caller &caller, uint64_t type, float number) {
    uint8_t *bytes = data[caller.resource - 1].data();
    BufferTypeAllocBufferReply made;
    if (!caller.call(Call::buffer_type_alloc_buffer, BufferTypeAllocBufferRequest{type, 4096}, made) || made.buffer == 0) return false;
    std::vector<float> values(64, number);
    std::memcpy(bytes, values.data(), 256);
    Graph graph;
    graph.tensors = {numbers(1, made.buffer, 0), numbers(2, made.buffer, 256)};
    graph.tensors[1].op = GGML_OP_ADD, graph.tensors[1].flags = static_cast<int32_t>(tensor_flag_compute);
    graph.tensors[1].src[0] = graph.tensors[1].src[1] = 1;
    graph.nodes = {2};
    BufferSetTensorReply set;
    if (!caller.call(Call::buffer_set_tensor, BufferSetTensorRequest{made.buffer, graph.tensors[0], caller.resource, 0, 256}, set)) return false;
    Writer writer(bytes, data_bytes);
    write(writer, graph);
    BackendGraphComputeReply computed;
    if (!caller.call(Call::backend_graph_compute, BackendGraphComputeRequest{caller.resource, writer.size()}, computed) || computed.status != 0) return false;
    BufferGetTensorReply get;
    if (!caller.call(Call::buffer_get_tensor, BufferGetTensorRequest{made.buffer, graph.tensors[1], caller.resource, 0, 256}, get)) return false;
    std::memcpy(values.data(), bytes, 256);
    BufferFreeBufferReply freed;
    // No two threads' refusals are the same, nor any two of one thread's in a row.
    if (caller.call(Call::buffer_free_buffer, BufferFreeBufferRequest{made.buffer + (uint64_t{caller.resource} << 56)}, freed)) return false;
    return caller.call(Call::buffer_free_buffer, BufferFreeBufferRequest{made.buffer}, freed) && values == std::vector<float>(64, 2 * number);
}

void work(const char *host_library, long rounds) {
    void *library = dlopen(host_library, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror()), std::_Exit(unable_status);
    auto initialize = reinterpret_cast<uint32_t (*)(uint32_t, apir_callbacks *)>(dlsym(library, "apir_backend_initialize"));
    auto dispatcher = reinterpret_cast<Dispatcher>(dlsym(library, "apir_backend_dispatcher"));
    auto deinit = reinterpret_cast<void (*)(uint32_t)>(dlsym(library, "apir_backend_deinit"));
    apir_callbacks callbacks{get_config, get_shmem_ptr};
    if (initialize(context, &callbacks) != static_cast<uint32_t>(InitCode::success)) std::_Exit(unable_status);
    for (std::vector<uint8_t> &each : data) each.resize(data_bytes);
    DeviceGetBufferTypeReply type;
    Caller{dispatcher, 1}.call(Call::device_get_buffer_type, DeviceGetBufferTypeRequest{}, type);
    std::atomic<bool> wrong{false};
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
        all.emplace_back([&, i] {
            Caller caller{dispatcher, static_cast<uint32_t>(i) + 1};
            for (long k = 0; k < rounds && !wrong; ++k)
                if (!round(caller, type.buft, static_cast<float>(i + 1) * static_cast<float>(k % 100 + 1))) wrong = true;
        });
    for (std::thread &each : all) each.join();
    deinit(context);
    if (wrong) std::_Exit(wrong_status);
}

} // namespace

int main(int count, char **values) {
    if (count != 4) return std::fprintf(stderr, "usage: host-threads HOST-LIBRARY GGML-LIBRARY ROUNDS\n"), 2;
    ggml_library = values[2];
    constexpr double hang_s = 60;
    Supervisor supervisor(hang_s);
    Ended ended = supervisor.run([&](Progress &) { work(values[1], std::atol(values[3])); });
    if (ended.ending == Ending::finished) return std::printf("4 threads, one call after the other\n"), 0;
    if (ended.ending == Ending::unable) return std::printf("the library cannot be used\n"), unable_status;
    std::printf("%s: not one call after the other\n", name_of(ended.ending));
    return 1;
}
