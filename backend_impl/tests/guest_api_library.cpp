// The guest library with a device and a host that exist in the process only, as a file that ggml's loader takes.
#include "guest_fake.hpp"

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init() {
    // As the real one's: never destroyed.
    static auto *host = new apir::guest::test::ScriptedHost;
    static apir::guest::Registry *registry = apir::guest::test::set_up(*host).release();
    return &registry->reg;
}
