// A backend library without devices that presents the API version named by APIR_STUB_API_VERSION: by loading it,
// abi-probe learns which version the installed libggml accepts.
#include "backend_interface.hpp"

#include <cstdlib>

namespace {

const char *name(ggml_backend_reg_t) { return "apir-abi-stub"; }
size_t device_count(ggml_backend_reg_t) { return 0; }
ggml_backend_dev_t device(ggml_backend_reg_t, size_t) { return nullptr; }

ggml_backend_reg registry = {0, {name, device_count, device, nullptr}, nullptr};

} // namespace

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init() {
    const char *version = std::getenv("APIR_STUB_API_VERSION");
    registry.api_version = version == nullptr ? 0 : std::atoi(version);
    return &registry;
}
