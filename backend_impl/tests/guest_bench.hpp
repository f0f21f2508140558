// A device that is set up on a scripted host, with what tests do to it.
#pragma once

#include "guest_fake.hpp"

namespace apir::guest::test {

using Context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
using Buffer = std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)>;
using Backend = std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)>;

inline Context context() { return {ggml_init({size_t{1} << 20, nullptr, true}), ggml_free}; }

struct Bench {
    explicit Bench(ScriptedHost &host, DevicePlan plan = {}) : Bench(set_up(host, std::move(plan))) {}
    explicit Bench(std::unique_ptr<Registry> of) : registry(std::move(of)) { expect(registry->devices.size() == 1, "no device"); }

    ggml_backend_buffer_type_t buft() { return ggml_backend_dev_buffer_type(registry->device()); }
    Buffer buffer(size_t size) { return {ggml_backend_buft_alloc_buffer(buft(), size), ggml_backend_buffer_free}; }
    Backend backend() { return {ggml_backend_dev_init(registry->device(), nullptr), ggml_backend_free}; }

    ggml_tensor *placed(Buffer &buffer, ggml_tensor *tensor, size_t offset) {
        auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer.get()));
        expect(ggml_backend_tensor_alloc(buffer.get(), tensor, base + offset) == GGML_STATUS_SUCCESS, "tensor placed");
        return tensor;
    }

    std::unique_ptr<Registry> registry;
};

// A graph of one node, a + a, in a buffer of its own.
struct Doubling {
    explicit Doubling(Bench &bench) : buffer(bench.buffer(4096)), backend(bench.backend()) {
        a = bench.placed(buffer, ggml_new_tensor_1d(memory.get(), GGML_TYPE_F32, 8), 0);
        sum = bench.placed(buffer, ggml_add(memory.get(), a, a), 1024);
        graph = ggml_new_graph(memory.get());
        ggml_build_forward_expand(graph, sum);
    }

    ggml_status compute() { return ggml_backend_graph_compute(backend.get(), graph); }

    Context memory = context();
    Buffer buffer;
    Backend backend;
    ggml_tensor *a = nullptr;
    ggml_tensor *sum = nullptr;
    ggml_cgraph *graph = nullptr;
};

} // namespace apir::guest::test
