// Preloaded into test-backend-ops (LD_PRELOAD) in a guest: its reference is then a device of the host's, on a context of its own,
// and so is what it prepares quantised tensors with. Everything else the program does as ever.
//
//   GGML_VIRTGPU_REFERENCE_LIBRARY   a copy of the guest library under another name: the one under test has its own state
//   GGML_VIRTGPU_REFERENCE_CAPSET    venus or apir: not the one of the device under test
//
// In an emulated guest the program's own CPU backend takes minutes for a case of attention, and ggml_quantize_chunk takes
// microseconds for an element, where the host takes a hundredth. The host's ggml_quantize_chunk is the same function of the same
// library, and gives the same bytes: of what it gives, now and then a row is computed here, too, and compared.
//
// What cannot be had ends the program with a message: it would compare with something else otherwise.
#include <abi/backend_interface.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "quantiser.hpp"
#include "remote_quantiser.hpp"

namespace apir::reference {
namespace {

constexpr const char *library_variable = "GGML_VIRTGPU_REFERENCE_LIBRARY";
constexpr const char *capset_variable = "GGML_VIRTGPU_REFERENCE_CAPSET";
constexpr const char *apir_capset_variable = "GGML_REMOTING_USE_APIR_CAPSET";
constexpr const char *call_log_variable = "GGML_VIRTGPU_CALL_LOG";
constexpr int64_t compared_every = 64; // chunks; one row of it

[[noreturn]] void give_up(const std::string &why) {
    std::fprintf(stderr, "host-reference: %s\n", why.c_str());
    std::fflush(stdout);
    std::_Exit(1);
}

template <typename Function> Function *next(const char *name) {
    auto *found = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
    if (found == nullptr) give_up(std::string("this ggml has no ") + name);
    return found;
}

std::string wanted(const char *name) {
    const char *value = std::getenv(name);
    if (value == nullptr || *value == '\0') give_up(std::string(name) + " is not set");
    return value;
}

// A variable as it is to be while the second library reads it; then as it was.
class Variable {
  public:
    Variable(const char *name, const char *value) : name_(name) {
        if (const char *before = std::getenv(name)) before_ = before;
        set(value);
    }
    ~Variable() { set(before_ ? before_->c_str() : nullptr); }
    Variable(const Variable &) = delete;
    Variable &operator=(const Variable &) = delete;

  private:
    void set(const char *value) {
        if (value == nullptr) unsetenv(name_);
        else setenv(name_, value, 1);
    }

    const char *name_;
    std::optional<std::string> before_;
};

ggml_backend_reg_t opened_registry() {
    std::string path = wanted(library_variable);
    std::string capset = wanted(capset_variable);
    if (capset != "venus" && capset != "apir") give_up(std::string(capset_variable) + " is '" + capset + "'; known are venus, apir");
    Variable route(apir_capset_variable, capset == "apir" ? "1" : nullptr);
    // Its calls are none of the device under test.
    Variable calls(call_log_variable, nullptr);
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) give_up(std::string("cannot open ") + path + ": " + dlerror());
    auto registration = reinterpret_cast<ggml_backend_reg_t (*)()>(dlsym(library, "ggml_backend_init"));
    ggml_backend_reg_t registry = registration == nullptr ? nullptr : registration();
    if (registry == nullptr || ggml_backend_reg_dev_count(registry) == 0)
        give_up("there is no device for the reference on the capset " + capset);
    return registry;
}

class Reference {
  public:
    Reference() : registry_(opened_registry()) {
        for (size_t i = 1; i < ggml_backend_reg_dev_count(registry_); ++i) {
            ggml_backend_dev_t device = ggml_backend_reg_dev_get(registry_, i);
            if (std::strstr(ggml_backend_dev_name(device), quantiser_name) == nullptr) continue;
            ggml_backend_t backend = ggml_backend_dev_init(device, nullptr);
            if (backend != nullptr) quantiser_ = std::make_unique<RemoteQuantiser>(backend);
        }
        ggml_backend_dev_t device = ggml_backend_reg_dev_get(registry_, 0);
        std::printf("host-reference: %s (%s)%s\n", ggml_backend_dev_name(device), ggml_backend_dev_description(device),
                    quantiser_ == nullptr ? "" : ", with a quantiser");
        std::fflush(stdout);
    }

    // Never destroyed: the program frees backends from its own static destructors.
    static Reference &the() {
        static Reference &only = *new Reference();
        return only;
    }

    ggml_backend_t backend() const {
        ggml_backend_t made = ggml_backend_dev_init(ggml_backend_reg_dev_get(registry_, 0), nullptr);
        if (made == nullptr) give_up("the reference's device cannot be used");
        return made;
    }

    RemoteQuantiser *quantiser() const { return quantiser_.get(); }

  private:
    ggml_backend_reg_t registry_;
    std::unique_ptr<RemoteQuantiser> quantiser_;
};

size_t quantise_here(const Chunk &chunk) {
    static auto *real = next<decltype(ggml_quantize_chunk)>("ggml_quantize_chunk");
    return real(chunk.type, chunk.from, chunk.to, chunk.start, chunk.rows, chunk.row_elements, chunk.importance);
}

// Of types whose tables take minutes here, nothing is compared.
void compare_a_row(const Chunk &chunk) {
    static std::atomic<int64_t> chunks{0};
    if (ggml_quantize_requires_imatrix(chunk.type) || has_tables(chunk.type) || chunks++ % compared_every != 0) return;
    size_t size = ggml_row_size(chunk.type, chunk.row_elements);
    std::vector<uint8_t> row(size);
    quantise_here({chunk.type, chunk.from + chunk.start, row.data(), 0, 1, chunk.row_elements, chunk.importance});
    if (std::memcmp(row.data(), chunk.at_start(), size) != 0)
        give_up(std::string("the host quantises to ") + ggml_type_name(chunk.type) + " otherwise than this guest: another libggml-base?");
}

size_t quantise(const Chunk &chunk) {
    RemoteQuantiser *quantiser = Reference::the().quantiser();
    if (quantiser == nullptr || !quantiser->is_for(chunk)) return quantise_here(chunk);
    try {
        quantiser->quantise(chunk);
    } catch (const std::exception &failure) {
        give_up(std::string("quantising to ") + ggml_type_name(chunk.type) + " on the host: " + failure.what());
    }
    compare_a_row(chunk);
    return chunk.size();
}

} // namespace
} // namespace apir::reference

#define APIR_EXPORT __attribute__((visibility("default")))

extern "C" {

// The reference is opened with the program's own backends, so that whoever looks at it finds it before the first case.
APIR_EXPORT void ggml_backend_load_all() {
    apir::reference::next<void()>("ggml_backend_load_all")();
    apir::reference::Reference::the();
}

APIR_EXPORT ggml_backend_t ggml_backend_init_by_type(enum ggml_backend_dev_type type, const char *parameters) {
    if (type == GGML_BACKEND_DEVICE_TYPE_CPU) return apir::reference::Reference::the().backend();
    return apir::reference::next<ggml_backend_t(enum ggml_backend_dev_type, const char *)>("ggml_backend_init_by_type")(type, parameters);
}

APIR_EXPORT size_t ggml_quantize_chunk(ggml_type type, const float *from, void *to, int64_t start, int64_t rows,
                                       int64_t row_elements, const float *importance) {
    return apir::reference::quantise({type, from, to, start, rows, row_elements, importance});
}
}
