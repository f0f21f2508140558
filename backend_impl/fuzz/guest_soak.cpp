// Whether the guest library's memory stays what it is, and the host-visible window as full: bytes per call and per graph, in a process
// with the host library and ggml-cpu behind it.
//
//   guest-soak HOST-LIBRARY GGML-LIBRARY CALLS GRAPHS       exit status 1 when one of them grows by more than a byte each
#include <cstdio>
#include <cstdlib>

#include "flat.hpp"
#include "tests/guest_bench.hpp"
#include "tests/guest_loopback.hpp"

using namespace apir::fuzz;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

struct Libraries {
    const char *host = nullptr, *ggml = nullptr;
};

struct Run {
    Run(const Libraries &libraries, const char *path) : data_path("GGML_VIRTGPU_DATA_PATH", path), host(libraries.host, libraries.ggml, "1") {}

    ggml_backend_dev_t device() { return registry->device(); }
    ggml_backend_buffer_type_t buft() { return ggml_backend_dev_buffer_type(device()); }
    Buffer buffer(size_t size) { return {ggml_backend_buft_alloc_buffer(buft(), size), ggml_backend_buffer_free}; }

    Variable data_path;
    LibraryHost host;
    std::unique_ptr<Registry> registry = set_up(host);
    Backend backend{ggml_backend_dev_init(registry->device(), nullptr), ggml_backend_free};
};

// Fewer than the guest keeps answers for, and all of them asked about before memory is first looked at.
constexpr int64_t most_shapes = 500;

struct Program {
    explicit Program(Run &made) : run(made) {
        ggml_backend_tensor_alloc(buffer.get(), tensor, ggml_backend_buffer_get_base(buffer.get()));
    }

    void ask(int64_t shape) {
        Context scratch{ggml_init({size_t{1} << 14, nullptr, true}), ggml_free};
        ggml_tensor *a = ggml_new_tensor_2d(scratch.get(), GGML_TYPE_F32, 1 + shape, 2);
        (void)ggml_backend_dev_supports_op(run.device(), ggml_add(scratch.get(), a, a));
        (void)ggml_backend_buft_get_alloc_size(run.buft(), a);
    }
    // Some that are kept for the next one, and some that are not.
    void allocate(long i) { Buffer made = run.buffer(static_cast<size_t>(1 + i % 7) * (i % 40 == 0 ? 3'000'000 : 9'000)); }

    void call(long i) {
        size_t free_bytes = 0, total_bytes = 0;
        switch (i % 7) {
        case 0: return ggml_backend_dev_memory(run.device(), &free_bytes, &total_bytes);
        case 1: return ask(i / 7 % most_shapes);
        case 2: return allocate(i / 7);
        case 3: return ggml_backend_tensor_set(tensor, numbers.data(), 0, i % 2 == 0 ? 64 : 65536);
        case 4: return ggml_backend_tensor_get(tensor, numbers.data(), 0, 65536);
        case 5: return ggml_backend_buffer_clear(buffer.get(), 0);
        default: return ggml_backend_tensor_memset(tensor, 1, 0, 4096);
        }
    }

    // The one before again, one that differs in a parameter, or one of another shape.
    void compute(long i) {
        if (i % 3 == 0) build(1 + i / 3 % 150);
        if (i % 3 == 1) scaled->op_params[0] ^= 1;
        if (ggml_backend_graph_compute(run.backend.get(), graph) != GGML_STATUS_SUCCESS) std::abort();
        if (i % 50 == 0) ggml_backend_synchronize(run.backend.get());
    }
    void build(int64_t rows) {
        shapes.reset(ggml_init({size_t{1} << 16, nullptr, true}));
        ggml_tensor *a = ggml_new_tensor_2d(shapes.get(), GGML_TYPE_F32, 8, rows);
        scaled = ggml_scale(shapes.get(), ggml_add(shapes.get(), a, a), 2.0f);
        auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer.get()));
        size_t at = 0;
        for (ggml_tensor *each : {a, scaled->src[0], scaled}) ggml_backend_tensor_alloc(buffer.get(), each, base + 8192 * at++);
        graph = ggml_new_graph_custom(shapes.get(), 8, false);
        ggml_build_forward_expand(graph, scaled);
    }

    Run &run;
    std::vector<uint8_t> numbers = std::vector<uint8_t>(65536);
    Buffer buffer = run.buffer(65536);
    Context own = context();
    ggml_tensor *tensor = ggml_new_tensor_1d(own.get(), GGML_TYPE_I8, 65536);
    Context shapes{nullptr, ggml_free};
    ggml_tensor *scaled = nullptr;
    ggml_cgraph *graph = nullptr;
};

// The window is as full as it was.
template <typename Work> bool flat_window(const char *what, Run &run, long count, Work work) {
    work(count / 10 + 5000);
    size_t before = run.host.shared_bytes();
    bool is_flat = flat(what, count, work);
    size_t after = run.host.shared_bytes();
    std::printf("    shared memory: %zu bytes before, %zu after\n", before, after);
    return is_flat && after <= before;
}

bool soak(const Libraries &libraries, const char *path, long calls, long graphs) {
    std::printf("data path %s\n", path);
    Run run(libraries, path);
    Program program(run);
    bool calls_flat = flat_window("calls", run, calls, [&](long count) {
        for (long i = 0; i < count; ++i) program.call(i);
    });
    bool graphs_flat = flat_window("graphs", run, graphs, [&](long count) {
        for (long i = 0; i < count; ++i) program.compute(i);
        ggml_backend_synchronize(run.backend.get());
    });
    return calls_flat && graphs_flat;
}

} // namespace

int main(int words, char **values) {
    if (words != 5) return std::fprintf(stderr, "usage: guest-soak HOST-LIBRARY GGML-LIBRARY CALLS GRAPHS\n"), 2;
    const Libraries libraries{values[1], values[2]};
    long calls = std::atol(values[3]), graphs = std::atol(values[4]);
    bool copied = soak(libraries, "copied", calls, graphs);
    bool shared = soak(libraries, "shared", calls, graphs);
    return copied && shared ? failures() : 1;
}
