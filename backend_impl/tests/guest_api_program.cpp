// A ggml program that loads a backend library and uses it through libggml alone: of the version that the libggml is which it is
// linked with. Prints "works", or "refused" when libggml does not take the library; exit status 0 if that was to be.
//
// Usage: test-guest-api-N LIBRARY works|refused
#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

namespace {

int wrong = 0;

void expect(bool holds, const char *what) {
    if (holds) return;
    std::printf("FAILED: %s\n", what);
    ++wrong;
}

void use_buffer(ggml_backend_buffer_type_t type, ggml_context *context) {
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(type, 4096);
    expect(buffer != nullptr, "alloc_buffer");
    if (buffer == nullptr) return;
    ggml_tensor *tensor = ggml_new_tensor_1d(context, GGML_TYPE_F32, 100);
    expect(ggml_backend_buft_get_alloc_size(type, tensor) == 400, "get_alloc_size");
    auto *base = static_cast<char *>(ggml_backend_buffer_get_base(buffer));
    expect(ggml_backend_tensor_alloc(buffer, tensor, base + 128) == GGML_STATUS_SUCCESS, "tensor_alloc");
    std::vector<float> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 1.0F);
    ggml_backend_tensor_set(tensor, numbers.data(), 0, 400);
    std::vector<float> back(100);
    ggml_backend_tensor_get(tensor, back.data(), 0, 400);
    expect(back == numbers, "set and get");
    ggml_backend_tensor_memset(tensor, 0, 0, 200);
    ggml_backend_tensor_get(tensor, back.data(), 0, 400);
    expect(back[49] == 0.0F && back[50] == 51.0F, "memset");
    ggml_backend_buffer_free(buffer);
}

void use(ggml_backend_dev_t device) {
    expect(std::strcmp(ggml_backend_dev_name(device), "[virtgpu] FAKE0") == 0, "device name");
    ggml_backend_buffer_type_t type = ggml_backend_dev_buffer_type(device);
    expect(std::strcmp(ggml_backend_buft_name(type), "[virtgpu] FAKE") == 0, "buffer type name");
    expect(ggml_backend_buft_get_alignment(type) == 32, "get_alignment");
    expect(ggml_backend_buft_get_max_size(type) == SIZE_MAX, "get_max_size");
    expect(!ggml_backend_buft_is_host(type), "is_host");
    expect(ggml_backend_buft_get_device(type) == device, "device of the buffer type");
    ggml_context *context = ggml_init({1 << 20, nullptr, true});
    use_buffer(type, context);
    ggml_backend_t backend = ggml_backend_dev_init(device, nullptr);
    ggml_tensor *a = ggml_new_tensor_1d(context, GGML_TYPE_F32, 8);
    ggml_tensor *sum = ggml_add(context, a, a);
    expect(ggml_backend_supports_op(backend, sum), "supports_op");
    ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(type, 4096);
    auto *base = static_cast<char *>(ggml_backend_buffer_get_base(buffer));
    ggml_backend_tensor_alloc(buffer, a, base);
    ggml_backend_tensor_alloc(buffer, sum, base + 64);
    ggml_cgraph *graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, sum);
    expect(ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS, "graph_compute");
    ggml_backend_buffer_free(buffer);
    ggml_backend_free(backend);
    ggml_free(context);
}

} // namespace

int main(int count, char **arguments) {
    if (count != 3) return 2;
    ggml_backend_reg_t registry = ggml_backend_load(arguments[1]);
    if (registry != nullptr) {
        expect(ggml_backend_reg_dev_count(registry) == 1, "device count");
        use(ggml_backend_reg_dev_get(registry, 0));
    }
    const char *verdict = registry == nullptr ? "refused" : "works";
    std::printf("%s\n", verdict);
    expect(std::strcmp(verdict, arguments[2]) == 0, arguments[2]);
    return wrong == 0 ? 0 : 1;
}
