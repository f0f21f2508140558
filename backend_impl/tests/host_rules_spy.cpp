// Preloaded into test-backend-ops: does the host library refuse anything that a real program asks for and the device can do?
//
// test-backend-ops asks its backend about every case it has; each that the backend accepts is put to the host library's own
// rules. At the end, one line with the counts; before it, one per refusal.
#include <cstdio>
#include <dlfcn.h>
#include <exception>

#include "host/op_rules.hpp"
#include "host/tensor_check.hpp"

namespace {

struct Counts {
    ~Counts() {
        std::fprintf(stderr, "compared %ld ops, accepted by the device %ld, refused by the rules %ld\n", asked, accepted, refused);
    }
    long asked = 0;
    long accepted = 0;
    long refused = 0;
};
Counts counts;

void tell(const ggml_tensor *tensor) {
    std::fprintf(stderr, "  %s", ggml_type_name(tensor->type));
    for (int i = 0; i < GGML_MAX_DIMS; ++i) std::fprintf(stderr, " %lld by %zu", static_cast<long long>(tensor->ne[i]), tensor->nb[i]);
    std::fprintf(stderr, ", parameters");
    for (int i = 0; i < 6; ++i) std::fprintf(stderr, " %d", tensor->op_params[i]);
    std::fprintf(stderr, "\n");
}

} // namespace

extern "C" __attribute__((visibility("default"))) bool ggml_backend_supports_op(ggml_backend_t backend, const ggml_tensor *op) {
    static const auto real =
        reinterpret_cast<bool (*)(ggml_backend_t, const ggml_tensor *)>(dlsym(RTLD_NEXT, "ggml_backend_supports_op"));
    ++counts.asked;
    if (!real(backend, op)) return false;
    ++counts.accepted;
    try {
        apir::host::check_op(*op, ggml_backend_get_device(backend));
        apir::host::extent_of(*op);
    } catch (const std::exception &refusal) {
        ++counts.refused;
        std::fprintf(stderr, "refused: %s\n", refusal.what());
        tell(op);
        for (const ggml_tensor *source : op->src)
            if (source != nullptr) tell(source);
    }
    return true;
}
