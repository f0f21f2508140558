// Preloaded into test-backend-ops: writes every op that its backend accepts as a line of seeds/ops.txt (see op_seed.hpp) to the
// file that APIR_OP_SEEDS names.
//
//   LD_PRELOAD=…/libop-seed-spy.so APIR_OP_SEEDS=all-ops.txt test-backend-ops support -b CPU
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>

#include <ggml-backend.h>

namespace {

void write_tensor(FILE *to, const ggml_tensor *tensor) {
    if (tensor == nullptr) {
        std::fputs(" -", to);
        return;
    }
    std::fprintf(to, " %s", ggml_type_name(tensor->type));
    for (int64_t n : tensor->ne) std::fprintf(to, ",%" PRId64, n);
    for (size_t n : tensor->nb) std::fprintf(to, ",%zu", n);
}

void write_op(FILE *to, const ggml_tensor &op) {
    std::fprintf(to, "%s ", ggml_op_name(op.op));
    int last = GGML_MAX_OP_PARAMS / 4 - 1;
    while (last > 0 && op.op_params[last] == 0) --last;
    for (int i = 0; i <= last; ++i) std::fprintf(to, "%s%d", i == 0 ? "" : ",", op.op_params[i]);
    write_tensor(to, &op);
    int sources = GGML_MAX_SRC;
    while (sources > 0 && op.src[sources - 1] == nullptr) --sources;
    for (int i = 0; i < sources; ++i) write_tensor(to, op.src[i] == &op ? nullptr : op.src[i]);
    std::fputc('\n', to);
}

FILE *seeds() {
    static const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(std::getenv("APIR_OP_SEEDS"), "we"), std::fclose);
    if (file == nullptr) std::abort();
    return file.get();
}

} // namespace

extern "C" __attribute__((visibility("default"))) bool ggml_backend_supports_op(ggml_backend_t backend, const ggml_tensor *op) {
    static const auto real =
        reinterpret_cast<bool (*)(ggml_backend_t, const ggml_tensor *)>(dlsym(RTLD_NEXT, "ggml_backend_supports_op"));
    bool supported = real(backend, op);
    if (supported) write_op(seeds(), *op);
    return supported;
}
