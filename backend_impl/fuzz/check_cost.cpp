// What the host library's checks cost: an empty call and a one-node graph, with and without them, interleaved in one process.
//
//   check-cost HOST-LIBRARY UNCHECKED-LIBRARY GGML-LIBRARY [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <vector>

#include <apir_gen.hpp>
#include <ggml.h>

#include "host/callbacks.hpp"

using namespace apir;

namespace {

constexpr uint64_t data_bytes = 65536;
const char *ggml_library = nullptr;
std::vector<uint8_t> data(data_bytes); // resource 1 of both contexts

const char *get_config(uint32_t, const char *key) {
    if (std::strcmp(key, "ggml.library.path") == 0) return ggml_library;
    if (std::strcmp(key, "ggml.threads") == 0) return "1";
    return std::strncmp(key, "apir.resource.size.", 19) == 0 ? "65536" : nullptr;
}
void *get_shmem_ptr(uint32_t, uint32_t resource) { return resource == 1 ? data.data() : nullptr; }
apir_callbacks callbacks{get_config, get_shmem_ptr};

class Library {
  public:
    Library(const char *path, uint32_t context) : context_(context) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) std::fprintf(stderr, "%s\n", dlerror()), std::exit(2);
        auto initialize = reinterpret_cast<uint32_t (*)(uint32_t, apir_callbacks *)>(dlsym(library, "apir_backend_initialize"));
        dispatcher_ = reinterpret_cast<decltype(dispatcher_)>(dlsym(library, "apir_backend_dispatcher"));
        if (initialize(context_, &callbacks) != static_cast<uint32_t>(InitCode::success)) std::fprintf(stderr, "%s fails\n", path), std::exit(2);
    }

    template <typename Reply, typename Request> Reply call(Call number, const Request &request) {
        char sent[512] = {}, got[512] = {};
        char *after = nullptr;
        Writer writer(sent, sizeof sent);
        write(writer, request);
        if (dispatcher_(context_, &callbacks, static_cast<uint32_t>(number), sent, sent + writer.size(), got, got + sizeof got, &after) != 0)
            std::fprintf(stderr, "%s is refused\n", call_name(static_cast<uint32_t>(number))), std::exit(1);
        Reader reader(got, static_cast<size_t>(after - got));
        Reply reply;
        read(reader, reply);
        return reply;
    }

    // The sum of two rows.
    Graph graph() {
        if (buffer_ == 0) {
            uint64_t type = call<DeviceGetBufferTypeReply>(Call::device_get_buffer_type, DeviceGetBufferTypeRequest{}).buft;
            buffer_ = call<BufferTypeAllocBufferReply>(Call::buffer_type_alloc_buffer, BufferTypeAllocBufferRequest{type, 4096}).buffer;
        }
        Graph made;
        for (uint64_t id : {1, 2}) {
            TensorRecord row;
            row.id = id, row.type = GGML_TYPE_F32, row.buffer = buffer_, row.data = 1024 * id;
            row.ne[0] = 64, row.ne[1] = row.ne[2] = row.ne[3] = 1;
            row.nb[0] = 4, row.nb[1] = row.nb[2] = row.nb[3] = 256;
            made.tensors.push_back(row);
        }
        made.tensors[1].op = GGML_OP_ADD, made.tensors[1].flags = static_cast<int32_t>(tensor_flag_compute);
        made.tensors[1].src[0] = made.tensors[1].src[1] = 1;
        made.nodes = {2};
        return made;
    }

  private:
    uint32_t context_;
    uint64_t buffer_ = 0;
    uint32_t (*dispatcher_)(uint32_t, apir_callbacks *, uint32_t, char *, const char *, char *, const char *, char **) = nullptr;
};

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

// Nanoseconds of one.
double timed(int count, const std::function<void()> &work) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) work();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / count;
}

void compare(const char *what, int rounds, int count, const std::function<void(Library &)> &work, Library *libraries[2]) {
    std::vector<double> times[2];
    for (int round = 0; round < rounds; ++round)
        for (int side : {round % 2, 1 - round % 2}) times[side].push_back(timed(count, [&] { work(*libraries[side]); }));
    double with = median(times[0]), without = median(times[1]);
    std::printf("%-24s %8.1f ns with checks, %8.1f ns without: %+.1f %%\n", what, with, without, 100 * (with / without - 1));
}

} // namespace

int main(int words, char **values) {
    if (words < 4) return std::fprintf(stderr, "usage: check-cost HOST-LIBRARY UNCHECKED-LIBRARY GGML-LIBRARY [ROUNDS]\n"), 2;
    ggml_library = values[3];
    int rounds = words > 4 ? std::atoi(values[4]) : 400;
    Library with(values[1], 1), without(values[2], 2);
    Library *both[2] = {&with, &without};
    compare("empty call", rounds, 2000, [](Library &each) { each.call<DeviceGetCountReply>(Call::device_get_count, DeviceGetCountRequest{}); }, both);
    auto sent = [](Library &each, Call number, auto request, auto reply) {
        Writer writer(data.data(), data.size());
        write(writer, each.graph());
        request.resource = 1, request.size = writer.size();
        return each.call<decltype(reply)>(number, request);
    };
    compare("one-node graph, sent", rounds, 400, [&](Library &each) { sent(each, Call::backend_graph_compute, BackendGraphComputeRequest{}, BackendGraphComputeReply{}); }, both);
    uint64_t kept[2] = {};
    for (int side : {0, 1}) kept[side] = sent(*both[side], Call::graph_keep, GraphKeepRequest{}, GraphKeepReply{}).graph;
    compare("one-node graph, kept", rounds, 400, [&](Library &each) { each.call<GraphRunReply>(Call::graph_run, GraphRunRequest{kept[&each == &without]}); }, both);
    return 0;
}
