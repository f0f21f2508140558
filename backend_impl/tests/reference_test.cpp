// libggml-reference.so around ggml's CPU backend: what it refuses, its devices, and that its quantiser gives the bytes of
// ggml_quantize_chunk.
#include <abi/backend_interface.hpp>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <vector>

#include <reference/quantiser.hpp>
#include <reference/remote_quantiser.hpp>

#include "host_expect.hpp"

using namespace apir::test;
using namespace apir::reference;

namespace {

using Init = ggml_backend_reg_t (*)();
constexpr int64_t row = 256;
constexpr int64_t rows = 40;

ggml_backend_reg_t registered(const char *path) {
    if (path == nullptr) unsetenv("GGML_REFERENCE_LIBRARY");
    else setenv("GGML_REFERENCE_LIBRARY", path, 1);
    void *library = dlopen(REFERENCE, RTLD_NOW | RTLD_LOCAL);
    expect(library != nullptr, "the library can be opened");
    return reinterpret_cast<Init>(dlsym(library, "ggml_backend_init"))();
}

struct Quantiser {
    Quantiser() : registry(registered(GGML_CPU_LIBRARY)), device(ggml_backend_reg_dev_get(registry, last())) {
        backend = ggml_backend_dev_init(device, nullptr);
    }
    ~Quantiser() { ggml_backend_free(backend); }
    size_t last() const { return ggml_backend_reg_dev_count(registry) - 1; }

    ggml_backend_reg_t registry;
    ggml_backend_dev_t device;
    ggml_backend_t backend = nullptr;
};

std::vector<float> numbers() {
    std::vector<float> all(row * rows);
    for (size_t i = 0; i < all.size(); ++i) all[i] = std::sin(static_cast<float>(i) * 0.37F) * (1.0F + static_cast<float>(i % 17));
    return all;
}

void test_what_cannot_be_wrapped_is_refused() {
    expect(registered(nullptr) == nullptr, "without a library");
    expect(registered("/no/such/library.so") == nullptr, "with a file that is not there");
    expect(registered("libc.so.6") == nullptr, "with a library that registers nothing");
}

void test_it_has_the_wrapped_devices_and_a_quantiser() {
    Quantiser quantiser;
    ggml_backend_dev_t first = ggml_backend_reg_dev_get(quantiser.registry, 0);
    expect(std::string(ggml_backend_dev_name(first)) == "CPU", "the first device is the wrapped library's");
    expect(std::string(ggml_backend_dev_name(quantiser.device)) == quantiser_name, "the last one is the quantiser");
    ggml_backend_t backend = ggml_backend_dev_init(first, nullptr);
    auto set = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(quantiser.registry, "ggml_backend_set_n_threads"));
    expect(set != nullptr, "threads can be set");
    set(backend, 2);
    set(quantiser.backend, 2); // a function of ggml-cpu would end the process here
    ggml_backend_free(backend);
}

void test_bytes(ggml_type type, bool important) {
    Quantiser quantiser;
    RemoteQuantiser remote(quantiser.backend);
    const std::vector<float> from = numbers();
    const std::vector<float> ones(row, 1.0F);
    const size_t size = rows * ggml_row_size(type, row);
    std::vector<uint8_t> here(size, 0);
    std::vector<uint8_t> there(size, 0);
    const float *importance = important ? ones.data() : nullptr;
    const int64_t half = rows / 2;
    for (int64_t start : {int64_t{0}, half}) {
        Chunk chunk{type, from.data(), there.data(), start * row, half, row, importance};
        expect(remote.is_for(chunk), std::string("is for ") + ggml_type_name(type));
        remote.quantise(chunk);
        expect_equal(chunk.size(), ggml_quantize_chunk(type, from.data(), here.data(), start * row, half, row, importance), "bytes");
    }
    expect(here == there, std::string(ggml_type_name(type)) + (important ? " with" : " without") + " importance is the same bytes");
}

void test_the_bytes_are_those_of_ggml() {
    for (ggml_type type : {GGML_TYPE_F16, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0,
                           GGML_TYPE_Q2_K, GGML_TYPE_Q3_K, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K, GGML_TYPE_IQ4_NL,
                           GGML_TYPE_IQ4_XS, GGML_TYPE_IQ3_XXS, GGML_TYPE_TQ1_0, GGML_TYPE_MXFP4})
        for (bool important : {false, true}) test_bytes(type, important);
}

// A process that may have no more threads: what those that are wanted would do is done all the same, with and without them.
void test_it_does_without_threads() {
    Quantiser quantiser;
    auto set = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(quantiser.registry, "ggml_backend_set_n_threads"));
    set(quantiser.backend, 4);
    RemoteQuantiser remote(quantiser.backend);
    constexpr int64_t many = 10 * rows; // of which each thread has some
    std::vector<float> from;
    for (int i = 0; i < 10; ++i)
        for (float number : numbers()) from.push_back(number * static_cast<float>(i + 1));
    const size_t size = many * ggml_row_size(GGML_TYPE_Q4_0, row);
    std::vector<uint8_t> expected(size);
    ggml_quantize_chunk(GGML_TYPE_Q4_0, from.data(), expected.data(), 0, many, row, nullptr);
    for (const bool none : {false, true}) {
        pthread_attr_t before;
        pthread_attr_t unusable;
        pthread_getattr_default_np(&before);
        pthread_attr_init(&unusable);
        pthread_attr_setstacksize(&unusable, size_t{1} << 46);
        if (none) pthread_setattr_default_np(&unusable);
        std::vector<uint8_t> bytes(size);
        remote.quantise({GGML_TYPE_Q4_0, from.data(), bytes.data(), 0, many, row, nullptr});
        pthread_setattr_default_np(&before);
        expect(bytes == expected, none ? "without threads" : "with threads");
    }
}

void test_importance_makes_another_result() {
    Quantiser quantiser;
    RemoteQuantiser remote(quantiser.backend);
    const std::vector<float> from = numbers();
    const std::vector<float> ones(row, 1.0F);
    std::vector<uint8_t> with(rows * ggml_row_size(GGML_TYPE_Q4_K, row));
    std::vector<uint8_t> without(with.size());
    remote.quantise({GGML_TYPE_Q4_K, from.data(), with.data(), 0, rows, row, ones.data()});
    remote.quantise({GGML_TYPE_Q4_K, from.data(), without.data(), 0, rows, row, nullptr});
    expect(with != without, "else the comparison above would not see a lost importance");
}

void test_what_it_is_not_for() {
    Quantiser quantiser;
    RemoteQuantiser remote(quantiser.backend);
    const std::vector<float> from = numbers();
    std::vector<float> importance(row, 1.0F);
    std::vector<uint8_t> to(rows * row * sizeof(float));
    expect(!remote.is_for({GGML_TYPE_F32, from.data(), to.data(), 0, rows, row, nullptr}), "floats stay what they are");
    expect(!remote.is_for({GGML_TYPE_Q4_0, from.data(), to.data(), 0, 1, row, nullptr}), "few are quicker here");
    expect(remote.is_for({GGML_TYPE_IQ2_XS, from.data(), to.data(), 0, 1, row, importance.data()}), "but for those with tables");
    importance.back() = 2.0F;
    expect(!remote.is_for({GGML_TYPE_Q4_K, from.data(), to.data(), 0, rows, row, importance.data()}), "an importance cannot be sent");
}

void test_the_quantiser_computes_nothing_else() {
    Quantiser quantiser;
    ggml_context *context = ggml_init({1 << 18, nullptr, true});
    ggml_tensor *a = ggml_new_tensor_1d(context, GGML_TYPE_F32, row);
    ggml_tensor *sum = ggml_add(context, a, a);
    ggml_cgraph *graph = ggml_new_graph(context);
    ggml_build_forward_expand(graph, sum);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(context, quantiser.backend);
    expect(!ggml_backend_supports_op(quantiser.backend, sum), "ADD is not supported");
    expect(ggml_backend_graph_compute(quantiser.backend, graph) != GGML_STATUS_SUCCESS, "and fails");
    ggml_backend_buffer_free(buffer);
    ggml_free(context);
}

} // namespace

int main(int, char **arguments) {
    return run_cases({{"refusals", test_what_cannot_be_wrapped_is_refused},
                      {"devices", test_it_has_the_wrapped_devices_and_a_quantiser},
                      {"threads", test_it_does_without_threads},
                      {"bytes", test_the_bytes_are_those_of_ggml},
                      {"importance", test_importance_makes_another_result},
                      {"not for", test_what_it_is_not_for},
                      {"nothing else", test_the_quantiser_computes_nothing_else}},
                     arguments[1]);
}
