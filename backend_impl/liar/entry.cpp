// libggml-liar.so: a ggml backend library that opens another one, GGML_LIAR_LIBRARY, and is that one to everybody who asks, but
// for the lies of GGML_LIAR. Names are passed through: what shows the liar is its file, by path and build id.
//
// GGML_LIAR_REGISTRATION names the wrapped library's registration symbol when it is not ggml_backend_init. A configuration that
// cannot be followed is told on standard error, and nothing is registered.
#include <abi/backend_interface.hpp>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <exception>
#include <mutex>

#include "graph.hpp"

namespace apir::liar {
namespace {

std::string variable(const char *name) {
    const char *value = std::getenv(name);
    return value == nullptr ? "" : value;
}

void *opened_library() {
    std::string path = variable("GGML_LIAR_LIBRARY");
    if (path.empty()) throw Malformed("GGML_LIAR_LIBRARY is not set: it has to be the path of the ggml library to wrap");
    // Never closed: backend libraries leave threads behind that must stay mapped.
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char *cause = dlerror();
        throw Malformed("GGML_LIAR_LIBRARY: cannot open '" + path + "': " + (cause == nullptr ? "" : cause));
    }
    return library;
}

ggml_backend_reg_t opened_registry() {
    std::string symbol = variable("GGML_LIAR_REGISTRATION");
    if (symbol.empty()) symbol = "ggml_backend_init";
    std::string path = variable("GGML_LIAR_LIBRARY");
    auto registration = reinterpret_cast<ggml_backend_reg_t (*)()>(dlsym(opened_library(), symbol.c_str()));
    if (registration == nullptr) throw Malformed("GGML_LIAR_REGISTRATION: symbol '" + symbol + "' not found in '" + path + "'");
    ggml_backend_reg_t registry = registration();
    if (registry == nullptr) throw Malformed("GGML_LIAR_LIBRARY: '" + path + "' registers no backend");
    // What is touched here lies at the same places in these two.
    if (registry->api_version != 2 && registry->api_version != 3)
        throw Malformed("GGML_LIAR_LIBRARY: '" + path + "' is of ggml's backend API " + std::to_string(registry->api_version) +
                        "; known are 2 and 3");
    return registry;
}

// A device of the wrapped library as the liar shows it: a copy with the same context, so that every function of theirs that is
// not replaced works on it. The copy comes first, and is what ggml has the address of.
struct Device {
    ggml_backend_device shown;
    Honest honest;
};

class Wrapped {
  public:
    Wrapped() : theirs_(opened_registry()), shown_(*theirs_) {
        shown_.iface.get_device = [](ggml_backend_reg_t, size_t index) -> ggml_backend_dev_t { return &the().devices_.at(index).shown; };
        for (size_t i = 0; i < ggml_backend_reg_dev_count(theirs_); ++i) add(ggml_backend_reg_dev_get(theirs_, i));
    }

    // Of this process; opened with its first use. Throws Malformed.
    static Wrapped &the() {
        static Wrapped only;
        return only;
    }

    ggml_backend_reg_t registry() { return &shown_; }

    void tell(std::shared_ptr<Liar> liar) {
        std::lock_guard lock(mutex_);
        liar_ = std::move(liar);
    }
    std::shared_ptr<Liar> liar() {
        std::lock_guard lock(mutex_);
        return liar_;
    }

  private:
    void add(ggml_backend_dev_t theirs);

    ggml_backend_reg_t theirs_;
    ggml_backend_reg shown_;
    std::deque<Device> devices_;
    std::mutex mutex_;
    std::shared_ptr<Liar> liar_;
};

Device &device_of(ggml_backend_dev_t shown) { return *reinterpret_cast<Device *>(shown); }

ggml_status compute(ggml_backend_t backend, ggml_cgraph *graph) {
    // Held for the graph: the library may be registered anew meanwhile, with other lies.
    std::shared_ptr<Liar> liar = Wrapped::the().liar();
    try {
        return compute_with_lies(backend, device_of(backend->device).honest, *liar, graph);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "ggml-liar: %s\n", failure.what());
        return GGML_STATUS_ALLOC_FAILED;
    }
}

ggml_backend_t init_backend(ggml_backend_dev_t shown, const char *parameters) {
    Device &device = device_of(shown);
    ggml_backend_t made = device.honest.device->iface.init_backend(device.honest.device, parameters);
    if (made == nullptr) return nullptr;
    device.honest.compute = made->iface.graph_compute;
    made->iface.graph_compute = compute;
    // A plan would be computed past the lies.
    made->iface.graph_plan_create = nullptr;
    made->device = shown;
    return made;
}

bool supports_op(ggml_backend_dev_t shown, const ggml_tensor *op) {
    std::shared_ptr<Liar> liar = Wrapped::the().liar();
    for (Kind kind : {Kind::deny, Kind::claim}) {
        const Lie *lie = liar->of_kind(kind, *op);
        if (lie != nullptr) {
            liar->note(*lie, *op);
            return kind == Kind::claim;
        }
    }
    ggml_backend_dev_t theirs = device_of(shown).honest.device;
    return theirs->iface.supports_op(theirs, op);
}

// Some libraries know their device by its address.
bool supports_buft(ggml_backend_dev_t shown, ggml_backend_buffer_type_t type) {
    ggml_backend_dev_t theirs = device_of(shown).honest.device;
    return theirs->iface.supports_buft(theirs, type);
}

void Wrapped::add(ggml_backend_dev_t theirs) {
    Device &device = devices_.emplace_back(Device{*theirs, {theirs, nullptr}});
    device.shown.reg = &shown_;
    device.shown.iface.init_backend = init_backend;
    device.shown.iface.supports_op = supports_op;
    device.shown.iface.supports_buft = supports_buft;
}

ggml_backend_reg_t registered() {
    auto liar = std::make_shared<Liar>(configured());
    Wrapped::the().tell(std::move(liar));
    return Wrapped::the().registry();
}

} // namespace
} // namespace apir::liar

#define APIR_EXPORT __attribute__((visibility("default")))

extern "C" {

APIR_EXPORT ggml_backend_reg_t ggml_backend_init() {
    try {
        return apir::liar::registered();
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "ggml-liar: %s\n", failure.what());
        return nullptr;
    }
}

// The wrapped library's own score; 1 for one that has none, as ggml takes such a one.
APIR_EXPORT int ggml_backend_score() {
    try {
        auto score = reinterpret_cast<int (*)()>(dlsym(apir::liar::opened_library(), "ggml_backend_score"));
        return score == nullptr ? 1 : score();
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "ggml-liar: %s\n", failure.what());
        return 0;
    }
}
}
