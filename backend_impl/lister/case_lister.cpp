// Preloaded into test-backend-ops (LD_PRELOAD), so that it lists its cases and computes none.
//
// The program has no mode that lists the cases of another mode: `support` leaves out every case of several operations. But it asks
// ggml before each case whether the device supports it, and prints a row for a case that is not. So the question is answered with
// no, whatever the device says, and what it does say is printed in front of the row, in a line of its own for every question.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

struct ggml_backend;
struct ggml_tensor;

extern "C" __attribute__((visibility("default"))) bool ggml_backend_supports_op(ggml_backend *backend, const ggml_tensor *op) {
    using Question = bool (*)(ggml_backend *, const ggml_tensor *);
    static const auto real = reinterpret_cast<Question>(dlsym(RTLD_NEXT, "ggml_backend_supports_op"));
    if (real == nullptr) {
        std::fputs("case-lister: this libggml-base has no ggml_backend_supports_op\n", stderr);
        std::exit(1);
    }
    std::puts(real(backend, op) ? "supports: yes" : "supports: no");
    return false;
}
