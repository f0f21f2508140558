// A ggml backend library that fails in each way that the host library has an answer for.
#include <abi/backend_interface.hpp>

namespace {

const char *name(ggml_backend_reg_t) { return "fake"; }
size_t none(ggml_backend_reg_t) { return 0; }
size_t one(ggml_backend_reg_t) { return 1; }
ggml_backend_dev_t no_device(ggml_backend_reg_t, size_t) { return nullptr; }

const char *device_name(ggml_backend_dev_t) { return "broken"; }
ggml_backend_t no_backend(ggml_backend_dev_t, const char *) { return nullptr; }

ggml_backend_device broken{};
ggml_backend_dev_t broken_device(ggml_backend_reg_t, size_t) { return &broken; }

ggml_backend_reg registry(size_t (*count)(ggml_backend_reg_t), ggml_backend_dev_t (*device)(ggml_backend_reg_t, size_t)) {
    ggml_backend_reg made{};
    made.api_version = APIR_GGML_API;
    made.iface.get_name = name;
    made.iface.get_device_count = count;
    made.iface.get_device = device;
    return made;
}

} // namespace

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t fake_no_registry() { return nullptr; }

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t fake_other_version() {
    static ggml_backend_reg made = registry(one, no_device);
    made.api_version = APIR_GGML_API - 1;
    return &made;
}

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t fake_no_device() {
    static ggml_backend_reg made = registry(none, no_device);
    return &made;
}

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t fake_broken_device() {
    static ggml_backend_reg made = registry(one, broken_device);
    broken.reg = &made;
    broken.iface.get_name = device_name;
    broken.iface.init_backend = no_backend;
    return &made;
}
