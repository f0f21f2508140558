// The whole op path in one process: guest library, host library, ggml's CPU backend. What comes back has to be bit for bit
// what the same backend library computes when it is asked directly.
//
// Usage: test-guest-loopback HOST_LIBRARY GGML_BACKEND_LIBRARY TWO_DEVICES
#include <cstring>
#include <dlfcn.h>
#include <numeric>

#include "guest_loopback.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

using Context = std::unique_ptr<ggml_context, decltype(&ggml_free)>;
using Buffer = std::unique_ptr<ggml_backend_buffer, decltype(&ggml_backend_buffer_free)>;
using Backend = std::unique_ptr<ggml_backend, decltype(&ggml_backend_free)>;
using Bytes = std::vector<uint8_t>;

// A graph with its inputs; built anew for each backend.
struct Problem {
    const char *name;
    ggml_tensor *(*build)(ggml_context *context);
};

ggml_tensor *f32(ggml_context *context, int64_t ne0, int64_t ne1) { return ggml_new_tensor_2d(context, GGML_TYPE_F32, ne0, ne1); }

const Problem problems[] = {
    {"ADD", [](ggml_context *c) { return ggml_add(c, f32(c, 64, 8), f32(c, 64, 8)); }},
    {"MUL_MAT f32", [](ggml_context *c) { return ggml_mul_mat(c, f32(c, 64, 8), f32(c, 64, 5)); }},
    {"MUL_MAT q4_0",
     [](ggml_context *c) { return ggml_mul_mat(c, ggml_new_tensor_2d(c, GGML_TYPE_Q4_0, 256, 16), f32(c, 256, 7)); }},
    {"RMS_NORM of a view",
     [](ggml_context *c) { return ggml_rms_norm(c, ggml_view_2d(c, f32(c, 64, 8), 64, 4, 256, 512), 1e-6F); }},
    {"SOFT_MAX of a scaled sum",
     [](ggml_context *c) { return ggml_soft_max(c, ggml_scale(c, ggml_add(c, f32(c, 33, 9), f32(c, 33, 9)), 0.5F)); }},
    {"CPY to f16", [](ggml_context *c) { return ggml_cast(c, f32(c, 100, 3), GGML_TYPE_F16); }},
    {"SOFT_MAX with sinks and no mask",
     [](ggml_context *c) {
         ggml_tensor *soft = ggml_soft_max(c, ggml_new_tensor_3d(c, GGML_TYPE_F32, 33, 9, 4));
         ggml_soft_max_add_sinks(soft, ggml_new_tensor_1d(c, GGML_TYPE_F32, 4));
         return soft;
     }},
    {"CONT of a transposed tensor", [](ggml_context *c) { return ggml_cont(c, ggml_transpose(c, f32(c, 17, 23))); }},
};

// Numbers that are the same for every backend; finite in every type.
Bytes input_bytes(const ggml_tensor *tensor, uint32_t seed) {
    size_t elements = static_cast<size_t>(ggml_nelements(tensor));
    std::vector<float> numbers(elements);
    uint32_t state = seed * 2654435761u + 1;
    for (float &number : numbers) {
        state = state * 1664525u + 1013904223u;
        number = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
    }
    Bytes bytes(ggml_nbytes(tensor));
    if (tensor->type == GGML_TYPE_F32) {
        std::memcpy(bytes.data(), numbers.data(), bytes.size());
    } else {
        ggml_quantize_chunk(tensor->type, numbers.data(), bytes.data(), 0, ggml_nrows(tensor), tensor->ne[0], nullptr);
    }
    return bytes;
}

Bytes computed(ggml_backend_t backend, const Problem &problem) {
    Context context{ggml_init({size_t{1} << 20, nullptr, true}), ggml_free};
    ggml_tensor *result = problem.build(context.get());
    ggml_cgraph *graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, result);
    for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
        if (!ggml_backend_supports_op(backend, ggml_graph_node(graph, i))) return {};
    }
    Buffer buffer{ggml_backend_alloc_ctx_tensors(context.get(), backend), ggml_backend_buffer_free};
    if (buffer == nullptr) return {};
    uint32_t seed = 0;
    for (ggml_tensor *tensor = ggml_get_first_tensor(context.get()); tensor != nullptr;
         tensor = ggml_get_next_tensor(context.get(), tensor)) {
        if (tensor->op != GGML_OP_NONE) continue;
        Bytes bytes = input_bytes(tensor, ++seed);
        ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
    }
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return {};
    Bytes bytes(ggml_nbytes(result));
    ggml_backend_tensor_get(result, bytes.data(), 0, bytes.size());
    return bytes;
}

void compare_all(const std::string &what, ggml_backend_t remote, ggml_backend_t native) {
    for (const Problem &problem : problems) {
        Bytes theirs = computed(native, problem);
        Bytes ours = computed(remote, problem);
        expect(!theirs.empty(), std::string("the CPU backend cannot do ") + problem.name);
        expect(ours == theirs, what + ": " + problem.name + (ours.empty() ? " was not computed" : " differs"));
    }
}

// A tensor without elements has no memory where it is all that its buffer would hold: it is read, and something is made of it that is read, too.
Bytes with_nothing(ggml_backend_t backend) {
    Context empty{ggml_init({size_t{1} << 20, nullptr, true}), ggml_free};
    Context context{ggml_init({size_t{1} << 20, nullptr, true}), ggml_free};
    ggml_tensor *nothing = ggml_new_tensor_1d(empty.get(), GGML_TYPE_F32, 0);
    ggml_tensor *twice = ggml_scale(empty.get(), nothing, 2.0F);
    ggml_tensor *input = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 16);
    ggml_tensor *first = ggml_concat(context.get(), input, ggml_view_1d(empty.get(), nothing, 0, 0), 0);
    ggml_tensor *result = ggml_concat(context.get(), twice, first, 0);
    ggml_cgraph *graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, result);
    Buffer buffer{ggml_backend_alloc_ctx_tensors(context.get(), backend), ggml_backend_buffer_free};
    Bytes bytes = input_bytes(input, 1);
    ggml_backend_tensor_set(input, bytes.data(), 0, bytes.size());
    for (int i = 0; i < 2; ++i) // the second time as one that is known
        if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return {};
    ggml_backend_tensor_get(result, bytes.data(), 0, bytes.size());
    return bytes;
}

// The program's own way of using several backends: the scheduler asks for support, sizes, and copies between them.
void run_scheduler(ggml_backend_t remote, ggml_backend_t native) {
    Context context{ggml_init({size_t{1} << 20, nullptr, true}), ggml_free};
    ggml_tensor *a = f32(context.get(), 64, 8);
    ggml_tensor *b = f32(context.get(), 64, 8);
    ggml_set_input(a);
    ggml_set_input(b);
    ggml_tensor *first = ggml_add(context.get(), a, b);
    ggml_tensor *middle = ggml_mul(context.get(), first, b);
    ggml_tensor *result = ggml_add(context.get(), ggml_sqr(context.get(), middle), a);
    ggml_set_output(result);
    ggml_cgraph *graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, result);
    ggml_backend_t backends[] = {remote, native};
    ggml_backend_sched_t scheduler = ggml_backend_sched_new(backends, nullptr, 2, GGML_DEFAULT_GRAPH_SIZE, false, true);
    ggml_backend_sched_set_tensor_backend(scheduler, first, remote);
    ggml_backend_sched_set_tensor_backend(scheduler, middle, native);
    ggml_backend_sched_set_tensor_backend(scheduler, result, remote);
    expect(ggml_backend_sched_alloc_graph(scheduler, graph), "the scheduler allocates the graph");
    std::vector<float> ones(512, 1.0F);
    std::vector<float> twos(512, 2.0F);
    ggml_backend_tensor_set(a, ones.data(), 0, 2048);
    ggml_backend_tensor_set(b, twos.data(), 0, 2048);
    expect(ggml_backend_sched_graph_compute(scheduler, graph) == GGML_STATUS_SUCCESS, "the scheduler computes the graph");
    ggml_backend_tensor_get(result, ones.data(), 0, 2048);
    expect(ones == std::vector<float>(512, 37.0F), "the scheduler's result");
    expect(ggml_backend_sched_get_n_splits(scheduler) > 1, "the scheduler used one backend only");
    ggml_backend_sched_free(scheduler);
}

void run(const char *library, const char *ggml_library, const char *path, const char *extensions, ggml_backend_t native) {
    Variable data_path("GGML_VIRTGPU_DATA_PATH", path);
    Variable chosen("GGML_VIRTGPU_EXTENSIONS", extensions);
    LibraryHost host(library, ggml_library);
    std::unique_ptr<Registry> registry = set_up(host);
    expect(registry->devices.size() == 1, std::string(path) + ": no device");
    if (registry->devices.size() == 0) return;
    CapturedLog log; // after the host library, which is in this process too and takes ggml's log for itself
    {
        Backend remote{ggml_backend_dev_init(registry->device(), nullptr), ggml_backend_free};
        compare_all(path, remote.get(), native);
        expect(!with_nothing(native).empty() && with_nothing(remote.get()) == with_nothing(native), std::string(path) + ": what has no memory");
        run_scheduler(remote.get(), native);
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                Backend own{ggml_backend_dev_init(registry->device(), nullptr), ggml_backend_free};
                for (int round = 0; round < 5; ++round) expect(!computed(own.get(), problems[round]).empty(), "a thread's graph");
            });
        }
        for (std::thread &thread : threads) thread.join();
    }
    registry.reset(); // with the buffers that it keeps
    expect(log.text().empty(), std::string("what is said with extensions ") + extensions + ": " + log.text());
    std::map<uint32_t, int> calls = host.calls();
    expect((calls[uint32_t(Call::wide_supports_op)] > 0) == (std::string(extensions) != "none"), "extensions that were not chosen");
    bool shared = calls[uint32_t(Call::device_buffer_from_ptr)] > 0 && calls[uint32_t(Call::buffer_set_tensor)] == 0;
    expect(shared == (std::string(path) == "shared"), std::string(path) + ": the data went the other way");
    expect(calls[uint32_t(Call::buffer_free_buffer)] ==
               calls[uint32_t(Call::device_buffer_from_ptr)] + calls[uint32_t(Call::buffer_type_alloc_buffer)] + calls[uint32_t(Call::alloc_with_base)],
           std::string(path) + ": not every buffer was freed");
}

// An input, a view of it with a stride that no 32 bits hold, twice that: 1 when it was computed, 0 when it was refused.
bool compute_beyond_32_bits(Registry &registry) {
    Context context{ggml_init({size_t{1} << 20, nullptr, true}), ggml_free};
    ggml_tensor *input = f32(context.get(), 8, 4);
    ggml_tensor *view = ggml_view_4d(context.get(), input, 8, 2, 1, 1, 32, size_t{5} << 32, size_t{6} << 32, 64);
    ggml_tensor *sum = ggml_add(context.get(), view, view);
    ggml_cgraph *graph = ggml_new_graph(context.get());
    ggml_build_forward_expand(graph, sum);
    Backend backend{ggml_backend_dev_init(registry.device(), nullptr), ggml_backend_free};
    Buffer buffer{ggml_backend_alloc_ctx_tensors(context.get(), backend.get()), ggml_backend_buffer_free};
    bool supported = ggml_backend_supports_op(backend.get(), sum);
    std::vector<float> numbers(32);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    ggml_backend_tensor_set(input, numbers.data(), 0, 128);
    bool computed = ggml_backend_graph_compute(backend.get(), graph) == GGML_STATUS_SUCCESS;
    expect(computed == supported, "supports_op and the graph disagree");
    if (!computed) return false;
    // Through the view, whose stride is in the records of set and get too.
    numbers.assign(16, 3.5F);
    ggml_backend_tensor_set(view, numbers.data(), 0, 32);
    ggml_backend_tensor_get(view, numbers.data(), 0, 64);
    expect(numbers[7] == 3.5F && numbers[8] == 24.0F, "set and get of a view beyond 32 bits");
    ggml_backend_tensor_get(sum, numbers.data(), 0, 64);
    expect(numbers[0] == 32.0F && numbers[15] == 62.0F, "the sum of a view beyond 32 bits");
    return true;
}

void run_beyond_32_bits(const char *library, const char *ggml_library, const char *path) {
    Variable data_path("GGML_VIRTGPU_DATA_PATH", path);
    {
        LibraryHost host(library, ggml_library);
        expect(compute_beyond_32_bits(*set_up(host)), std::string(path) + ": strides beyond 32 bits with the extension");
    }
    Variable none("GGML_VIRTGPU_EXTENSIONS", "devices,liveness");
    LibraryHost host(library, ggml_library);
    std::unique_ptr<Registry> registry = set_up(host);
    CapturedLog log; // after the host library, which is in this process too and takes ggml's log for itself
    expect(!compute_beyond_32_bits(*registry), std::string(path) + ": strides beyond 32 bits without the extension");
    expect(log.has("has a shape or stride beyond 32 bits"), "they are refused without the reason");
}

// Each of the host's devices is one of the guest's, with memory of its own; several threads use both at once.
void run_two_devices(const char *library, const char *two_devices, const char *path, ggml_backend_t native) {
    Variable data_path("GGML_VIRTGPU_DATA_PATH", path);
    auto computed_by = reinterpret_cast<int (*)(int)>(dlsym(dlopen(two_devices, RTLD_NOW), "cards_computed"));
    LibraryHost host(library, two_devices);
    {
        Variable fewer("GGML_VIRTGPU_EXTENSIONS", "wide_shapes");
        expect(set_up(host)->devices.size() == 1, "more than one device without the extension");
        host.end_context();
    }
    std::unique_ptr<Registry> registry = set_up(host);
    expect(registry->devices.size() == 2, "two devices");
    if (registry->devices.size() != 2) return;
    std::string names = std::string(ggml_backend_dev_name(registry->device(0))) + ", " + ggml_backend_dev_name(registry->device(1));
    expect(names == "[virtgpu] CARD0, [virtgpu] CARD1", names);
    for (size_t i = 0; i < 2; ++i) {
        int before = computed_by(static_cast<int>(i));
        int others = computed_by(static_cast<int>(1 - i));
        Backend backend{ggml_backend_dev_init(registry->device(i), nullptr), ggml_backend_free};
        compare_all(std::string(path) + ", device " + std::to_string(i), backend.get(), native);
        expect(computed_by(static_cast<int>(i)) - before >= 8 && computed_by(static_cast<int>(1 - i)) == others, "computed elsewhere");
        run_scheduler(backend.get(), native);
    }
    expect(!ggml_backend_dev_supports_buft(registry->device(0), ggml_backend_dev_buffer_type(registry->device(1))), "shared memory");
    std::vector<Bytes> expected;
    for (int i = 0; i < 5; ++i) expected.push_back(computed(native, problems[i]));
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            Backend own{ggml_backend_dev_init(registry->device(i % 2), nullptr), ggml_backend_free};
            for (int round = 0; round < 20; ++round)
                expect(computed(own.get(), problems[round % 5]) == expected[static_cast<size_t>(round % 5)], "a thread's graph");
        });
    }
    for (std::thread &thread : threads) thread.join();
}

} // namespace

int main(int count, char **arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: %s HOST_LIBRARY GGML_BACKEND_LIBRARY TWO_DEVICES\n", arguments[0]);
        return 2;
    }
    ggml_backend_reg_t cpu = ggml_backend_load(arguments[2]);
    expect(cpu != nullptr, "the CPU backend does not load");
    if (cpu == nullptr) return failures();
    Backend native{ggml_backend_dev_init(ggml_backend_reg_dev_get(cpu, 0), nullptr), ggml_backend_free};
    for (const char *path : {"copied", "shared"}) {
        run(arguments[1], arguments[2], path, "all", native.get());
        run(arguments[1], arguments[2], path, "none", native.get());
        run_beyond_32_bits(arguments[1], arguments[2], path);
        run_two_devices(arguments[1], arguments[3], path == std::string("shared") ? "auto" : path, native.get());
    }
    return failures();
}
