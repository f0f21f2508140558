// The whole op path in one process with chosen extensions, and what goes over it.
#pragma once

#include <cstdio>
#include <numeric>
#include <optional>

#include "guest_bench.hpp"
#include "guest_loopback.hpp"
#include "sent_bytes.hpp"

namespace apir::guest::test {

struct Libraries {
    const char *host = nullptr;
    const char *ggml = nullptr;
};
inline Libraries libraries;
// From a test program's arguments: HOST_LIBRARY GGML_BACKEND_LIBRARY. False, having said so, when they are others.
inline bool use_libraries(int count, char **arguments) {
    if (count == 3) libraries = {arguments[1], arguments[2]};
    else std::fprintf(stderr, "usage: %s HOST_LIBRARY GGML_BACKEND_LIBRARY\n", arguments[0]);
    return count == 3;
}

// With call records, unless a test is about what is done where none are kept.
enum class Records { kept, none };

template <typename Host> struct RunOn {
    explicit RunOn(const char *extensions, const char *path = "copied", DevicePlan plan = {}, Records kept = Records::kept)
        : chosen("GGML_VIRTGPU_EXTENSIONS", extensions), data_path("GGML_VIRTGPU_DATA_PATH", path), unrecorded(kept == Records::none),
          host(libraries.host, libraries.ggml, "1"), registry(set_up(host, std::move(plan))),
          backend(ggml_backend_dev_init(registry->device(), nullptr), ggml_backend_free) {}

    ggml_backend_buffer_type_t buft() { return ggml_backend_dev_buffer_type(registry->device()); }
    Buffer buffer(size_t size) { return {ggml_backend_buft_alloc_buffer(buft(), size), ggml_backend_buffer_free}; }
    Channel &channel() { return registry->session().channel(); }

    Variable chosen;
    Variable data_path;
    struct Unrecorded {
        explicit Unrecorded(bool is_so) {
            if (is_so) variable.emplace("GGML_VIRTGPU_CALL_LOG", "");
        }
        std::optional<Variable> variable;
    };

    CallRecords records;
    Unrecorded unrecorded;
    Host host;
    std::unique_ptr<Registry> registry;
    Backend backend;
};
using Run = RunOn<LibraryHost>;

template <typename Host> void expect_calls(RunOn<Host> &run, std::map<Call, int> wanted, const std::string &what) {
    Sent sent = sum(run.records.fresh());
    for (auto [call, times] : wanted) {
        int seen = sent.by_call[static_cast<uint32_t>(call)];
        expect(seen == times, what + ": " + std::to_string(seen) + " times " + call_name(static_cast<uint32_t>(call)));
    }
}

// numbers + numbers, `count` of them, in a buffer of its own.
struct Doubled {
    Doubled(ggml_backend_buffer_type_t buft, int64_t count)
        : context(guest::test::context()), input(ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, count)),
          output(ggml_add(context.get(), input, input)), graph(ggml_new_graph(context.get())) {
        ggml_build_forward_expand(graph, output);
        buffer.reset(ggml_backend_alloc_ctx_tensors_from_buft(context.get(), buft));
    }

    Context context;
    ggml_tensor *input;
    ggml_tensor *output;
    ggml_cgraph *graph;
    Buffer buffer{nullptr, ggml_backend_buffer_free};
};

// scale * a, over a tensor of 16 numbers at places of our choosing.
struct Scaled {
    Scaled(Run &run, ggml_backend_buffer_t buffer, size_t at = 256)
        : context(guest::test::context()), input(ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 16)),
          output(ggml_scale(context.get(), input, 2.0F)), graph(ggml_new_graph(context.get())), backend(run.backend.get()) {
        ggml_build_forward_expand(graph, output);
        auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer));
        ggml_backend_tensor_alloc(buffer, input, base);
        ggml_backend_tensor_alloc(buffer, output, base + at);
        std::vector<float> numbers(16);
        std::iota(numbers.begin(), numbers.end(), 1.0F);
        ggml_backend_tensor_set(input, numbers.data(), 0, 64);
    }

    // The last number of the result.
    float computed() {
        float last = -1;
        expect(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS, "a graph");
        ggml_backend_tensor_get(output, &last, 60, sizeof last);
        return last;
    }

    Context context;
    ggml_tensor *input;
    ggml_tensor *output;
    ggml_cgraph *graph;
    ggml_backend_t backend;
};

} // namespace apir::guest::test
