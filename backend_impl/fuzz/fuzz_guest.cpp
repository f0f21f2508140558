// Target: the guest library against a hostile host (hostile_host.hpp has the input). A program does what programs do with a device:
// none of it may end the program, or take longer than its deadlines.
#include <algorithm>
#include <cstring>

#include <ggml-alloc.h>

#include "hostile_host.hpp"
#include "random.hpp"
#include "target.hpp"
#include "tests/guest_bench.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

using Event = std::unique_ptr<ggml_backend_event, decltype(&ggml_backend_event_free)>;

struct Program {
    Context memory = context();
    ggml_tensor *a = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 16, 4);
    ggml_tensor *b = ggml_new_tensor_2d(memory.get(), GGML_TYPE_F32, 16, 4);
    ggml_tensor *sum = ggml_add(memory.get(), a, b);
    ggml_tensor *scaled = ggml_scale(memory.get(), sum, 2.0f);
    ggml_tensor *large = ggml_new_tensor_1d(memory.get(), GGML_TYPE_F32, 4096);
    ggml_cgraph *graph = ggml_new_graph(memory.get());

    Program() { ggml_build_forward_expand(graph, scaled); }
};

void compute(ggml_backend_t backend, Program &program) {
    for (int i = 0; i < 3; ++i) (void)ggml_backend_graph_compute(backend, program.graph);
    program.scaled->op_params[0] ^= 1; // a kept graph is changed
    (void)ggml_backend_graph_compute(backend, program.graph);
    (void)ggml_backend_graph_compute_async(backend, program.graph);
}

void transfer(ggml_backend_dev_t device, ggml_backend_t backend, Program &program) {
    float numbers[4096] = {1, 2, 3};
    ggml_backend_tensor_set(program.a, numbers, 0, 256);
    ggml_backend_tensor_set(program.large, numbers, 0, sizeof numbers);
    ggml_backend_tensor_set_async(backend, program.b, numbers, 64, 128);
    Event event{ggml_backend_event_new(device), ggml_backend_event_free};
    if (event != nullptr) ggml_backend_event_record(event.get(), backend);
    compute(backend, program);
    ggml_backend_tensor_get_async(backend, program.scaled, numbers, 0, 256);
    if (event != nullptr) ggml_backend_event_synchronize(event.get());
    ggml_backend_synchronize(backend);
    ggml_backend_tensor_copy(program.a, program.b);
    ggml_backend_tensor_memset(program.a, 7, 0, 64);
    ggml_backend_tensor_get(program.large, numbers, 0, sizeof numbers);
}

void use(ggml_backend_dev_t device) {
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(device);
    if (type == nullptr) return;
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(device, &props);
    Program program;
    (void)ggml_backend_dev_supports_op(device, program.sum);
    Backend backend{ggml_backend_dev_init(device, nullptr), ggml_backend_free};
    if (backend == nullptr) return;
    for (int round = 0; round < 2; ++round) {
        // Sized by what the host says that tensors need.
        Buffer buffer{ggml_backend_alloc_ctx_tensors_from_buft(program.memory.get(), type), ggml_backend_buffer_free};
        if (buffer == nullptr) return;
        ggml_backend_buffer_clear(buffer.get(), 1);
        transfer(device, backend.get(), program);
        buffer.reset();
        for (ggml_tensor *each : {program.a, program.b, program.sum, program.scaled, program.large}) each->buffer = nullptr, each->data = nullptr;
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const Variable deadline("GGML_VIRTGPU_CALL_DEADLINE_MS", "20"), graph_deadline("GGML_VIRTGPU_GRAPH_DEADLINE_MS", "20");
    CapturedLog log;
    apir::fuzz::HostileHost host(data, size);
    std::unique_ptr<Registry> registry = set_up(host);
    if (registry != nullptr && !registry->devices.empty()) use(registry->device());
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    // Long enough for a session, mostly of good answers.
    constexpr size_t least = 160;
    constexpr size_t head = apir::fuzz::HostileHost::head_bytes;
    apir::fuzz::Random random(seed);
    for (; size < std::min(least, most); ++size) data[size] = 0;
    if (size <= head) return size;
    if (random.one_in(4)) data[random.below(head)] = static_cast<uint8_t>(random.next());
    for (uint64_t i = random.below(3); i > 0; --i) data[head + random.below(size - head)] = static_cast<uint8_t>(apir::fuzz::HostileHost::first_lie + random.below(96));
    return random.one_in(2) ? size : std::max<size_t>(head, apir::fuzz::mutate_plainly(data, size, most, seed));
}
