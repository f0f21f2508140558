// libggml-reference.so: the ggml library of a reference's context on the host. It has the devices of another one,
// GGML_REFERENCE_LIBRARY (a build of ggml-cpu), and a quantiser behind them.
//
// test-backend-ops asks of its own CPU backend to compute by the plain kernels (ggml_backend_cpu_set_use_ref). That function cannot
// be reached from a guest, so it is called here, where the wrapped library has it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <exception>
#include <stdexcept>
#include <string>

#include "quantiser.hpp"

namespace apir::reference {
namespace {

using SetUseRef = void (*)(ggml_backend_t, bool);

ggml_backend_reg_t opened_registry() {
    const char *path = std::getenv("GGML_REFERENCE_LIBRARY");
    if (path == nullptr || *path == '\0')
        throw std::runtime_error("GGML_REFERENCE_LIBRARY is not set: it has to be the path of the ggml library to compute with");
    // Never closed: backend libraries leave threads behind that must stay mapped.
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char *cause = dlerror();
        throw std::runtime_error(std::string("GGML_REFERENCE_LIBRARY: cannot open '") + path + "': " + (cause == nullptr ? "" : cause));
    }
    auto registration = reinterpret_cast<ggml_backend_reg_t (*)()>(dlsym(library, "ggml_backend_init"));
    ggml_backend_reg_t registry = registration == nullptr ? nullptr : registration();
    if (registry == nullptr || ggml_backend_reg_dev_count(registry) == 0)
        throw std::runtime_error(std::string("GGML_REFERENCE_LIBRARY: '") + path + "' registers no device");
    if (registry->api_version != APIR_GGML_API)
        throw std::runtime_error(std::string("GGML_REFERENCE_LIBRARY: '") + path + "' is of ggml's backend API " +
                                 std::to_string(registry->api_version) + ", not " + std::to_string(APIR_GGML_API));
    return registry;
}

// A device of theirs with another init_backend. The copy comes first, and is what ggml has the address of.
struct Device {
    ggml_backend_device shown;
    ggml_backend_dev_t theirs;
};

class Reference {
  public:
    Reference() : theirs_(opened_registry()), shown_(*theirs_) {
        for (size_t i = 0; i < ggml_backend_reg_dev_count(theirs_); ++i) add(ggml_backend_reg_dev_get(theirs_, i));
        quantiser_ = quantiser_device(&shown_, devices_.front().theirs);
        shown_.iface.get_name = [](ggml_backend_reg_t) { return "reference"; };
        shown_.iface.get_device_count = [](ggml_backend_reg_t) { return the().devices_.size() + 1; };
        shown_.iface.get_device = [](ggml_backend_reg_t, size_t index) { return the().device(index); };
        shown_.iface.get_proc_address = [](ggml_backend_reg_t, const char *name) { return the().function(name); };
    }

    // Of this process; opened with its first use. Throws.
    static Reference &the() {
        static Reference only;
        return only;
    }

    ggml_backend_reg_t registry() { return &shown_; }

  private:
    void add(ggml_backend_dev_t theirs) {
        Device &device = devices_.emplace_back(Device{*theirs, theirs});
        device.shown.iface.init_backend = [](ggml_backend_dev_t shown, const char *parameters) -> ggml_backend_t {
            ggml_backend_dev_t inner = reinterpret_cast<Device *>(shown)->theirs;
            ggml_backend_t made = inner->iface.init_backend(inner, parameters);
            if (made != nullptr) the().take_plain_kernels(made);
            return made;
        };
    }

    void take_plain_kernels(ggml_backend_t backend) {
        auto set = reinterpret_cast<SetUseRef>(ggml_backend_reg_get_proc_address(theirs_, "ggml_backend_cpu_set_use_ref"));
        if (set != nullptr) set(backend, true);
    }

    ggml_backend_dev_t device(size_t index) { return index < devices_.size() ? &devices_[index].shown : quantiser_; }

    // Theirs must not get a backend that is not their own.
    void *function(const char *name) {
        if (std::strcmp(name, "ggml_backend_set_n_threads") == 0) return reinterpret_cast<void *>(set_threads);
        if (std::strcmp(name, "ggml_backend_set_abort_callback") == 0) return reinterpret_cast<void *>(set_abort_callback);
        return ggml_backend_reg_get_proc_address(theirs_, name);
    }

    static void set_threads(ggml_backend_t backend, int count) {
        if (set_quantiser_threads(backend, count)) return;
        auto set = reinterpret_cast<ggml_backend_set_n_threads_t>(
            ggml_backend_reg_get_proc_address(the().theirs_, "ggml_backend_set_n_threads"));
        if (set != nullptr) set(backend, count);
    }

    static void set_abort_callback(ggml_backend_t backend, ggml_abort_callback callback, void *data) {
        if (backend->device == the().quantiser_) return;
        auto set = reinterpret_cast<ggml_backend_set_abort_callback_t>(
            ggml_backend_reg_get_proc_address(the().theirs_, "ggml_backend_set_abort_callback"));
        if (set != nullptr) set(backend, callback, data);
    }

    ggml_backend_reg_t theirs_;
    ggml_backend_reg shown_;
    std::deque<Device> devices_;
    ggml_backend_dev_t quantiser_ = nullptr;
};

} // namespace
} // namespace apir::reference

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init() {
    try {
        return apir::reference::Reference::the().registry();
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "ggml-reference: %s\n", failure.what());
        return nullptr;
    }
}
