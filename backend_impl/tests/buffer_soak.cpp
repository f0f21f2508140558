// Allocates and frees many buffers on a backend library's first device, in one process, and says how that process fares: run it
// inside a guest, for what only shows there (the host-visible window, the kernel's objects).
//
// Usage: buffer-soak LIBRARY COUNT [LARGEST-SIZE]
// Prints a line of JSON at the start, after each tenth, and at the end: buffers so far, seconds, the process's own memory, and how
// many blobs of the GPU it has mapped. Exit status 1 when a buffer could not be had or its bytes were wrong.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <ggml-backend.h>
#include <ggml.h>

namespace {

long anonymous_kib() {
    std::ifstream status("/proc/self/status");
    long kib = -1;
    for (std::string line; std::getline(status, line);)
        if (std::sscanf(line.c_str(), "RssAnon: %ld", &kib) == 1) break;
    return kib;
}

int mapped_blobs() {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find("/dev/dri/") != std::string::npos ? 1 : 0;
    return count;
}

struct Soak {
    ggml_backend_buffer_type_t type;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

    void tell(long done) const {
        double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        std::printf("{\"buffers\": %ld, \"seconds\": %.1f, \"anonymous_kib\": %ld, \"blobs\": %d}\n", done, seconds, anonymous_kib(),
                    mapped_blobs());
        std::fflush(stdout);
    }

    // A buffer of `size` bytes that keeps what is written to it.
    bool use(size_t size, long number) const {
        ggml_backend_buffer_t buffer = ggml_backend_buft_alloc_buffer(type, size);
        if (buffer == nullptr) return false;
        ggml_tensor tensor{};
        tensor.type = GGML_TYPE_I8;
        tensor.ne[0] = 8;
        tensor.ne[1] = tensor.ne[2] = tensor.ne[3] = 1;
        tensor.nb[0] = 1;
        tensor.nb[1] = tensor.nb[2] = tensor.nb[3] = 8;
        tensor.buffer = buffer;
        tensor.data = ggml_backend_buffer_get_base(buffer);
        bool held = true;
        if (number % 64 == 0) {
            long back = -1;
            ggml_backend_tensor_set(&tensor, &number, 0, sizeof number);
            ggml_backend_tensor_get(&tensor, &back, 0, sizeof back);
            held = back == number;
        }
        ggml_backend_buffer_free(buffer);
        return held;
    }

    int run(long count, size_t largest) const {
        tell(0);
        for (long i = 1; i <= count; ++i) {
            if (!use(64 + static_cast<size_t>(i) * 7919 % largest, i)) {
                std::fprintf(stderr, "buffer %ld could not be had, or lost its bytes\n", i);
                return 1;
            }
            if (i % (count / 10 + 1) == 0) tell(i);
        }
        tell(count);
        return 0;
    }
};

} // namespace

int main(int count, char **arguments) {
    if (count < 3) {
        std::fprintf(stderr, "usage: %s LIBRARY COUNT [LARGEST-SIZE]\n", arguments[0]);
        return 2;
    }
    ggml_backend_reg_t registry = ggml_backend_load(arguments[1]);
    if (registry == nullptr || ggml_backend_reg_dev_count(registry) == 0) {
        std::fprintf(stderr, "no device\n");
        return 2;
    }
    Soak soak{ggml_backend_dev_buffer_type(ggml_backend_reg_dev_get(registry, 0))};
    return soak.run(std::atol(arguments[2]), count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 50000);
}
