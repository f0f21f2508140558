#include "ggml_library.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <sched.h>

#include <abi/backend_interface.hpp>
#include <abi/op_numbers.hpp>

#include "log.hpp"

namespace apir::host {
namespace {

constexpr const char *default_registration = "ggml_backend_init";

ggml_backend_reg_t registered(const GgmlOptions &options) {
    if (options.path == nullptr || *options.path == '\0')
        throw InitFailure{InitCode::cannot_open_ggml,
                          "cannot open the GGML library: env var 'APIR_LLAMA_CPP_GGML_LIBRARY_PATH' not defined"};
    // Never closed: backend libraries leave threads and exit handlers behind (OpenMP, GPU drivers) that must stay mapped.
    void *library = dlopen(options.path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char *cause = dlerror();
        throw InitFailure{InitCode::cannot_open_ggml,
                          std::string("cannot open the GGML library '") + options.path + "': " + (cause != nullptr ? cause : "")};
    }
    const char *symbol = options.registration;
    if (symbol == nullptr || *symbol == '\0') symbol = default_registration;
    auto registration = reinterpret_cast<ggml_backend_reg_t (*)()>(dlsym(library, symbol));
    if (registration == nullptr)
        throw InitFailure{InitCode::ggml_symbols, std::string("cannot register the GGML library: symbol '") + symbol +
                                                      "' not found in '" + options.path +
                                                      "' (env var 'APIR_LLAMA_CPP_GGML_LIBRARY_REG')"};
    ggml_backend_reg_t registry = registration();
    if (registry == nullptr)
        throw InitFailure{InitCode::registration_failed, std::string("cannot register the GGML library: '") + symbol + "' of '" +
                                                             options.path + "' gave no backend"};
    // Of another version every function lies in another place, and would be called as what it is not.
    if (registry->api_version != APIR_GGML_API)
        throw InitFailure{InitCode::registration_failed, std::string("cannot register the GGML library: '") + options.path +
                                                             "' is of ggml's backend API " + std::to_string(registry->api_version) +
                                                             ", not " + std::to_string(APIR_GGML_API)};
    if (const std::string moved = abi::moved_op(); !moved.empty())
        throw InitFailure{InitCode::registration_failed,
                          "cannot register the GGML library: its libggml has other ops than this library: " + moved};
    return registry;
}

int usable_cores() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

// Never more than tensor_check.hpp leaves room for.
int wished_threads(const char *text) {
    const int all = std::min(usable_cores(), GGML_MAX_N_THREADS);
    if (text == nullptr || *text == '\0') return all;
    char *end = nullptr;
    long wish = std::strtol(text, &end, 10);
    if (*end != '\0' || wish < 1 || wish > GGML_MAX_N_THREADS) {
        log(Level::warn, "ggml.threads is '%s', which is not a number from 1 to %d: using %d", text, GGML_MAX_N_THREADS, all);
        return all;
    }
    return static_cast<int>(wish);
}

std::chrono::milliseconds graph_time(const char *text) {
    if (text == nullptr || *text == '\0') return std::chrono::milliseconds(graph_wait_ms);
    char *end = nullptr;
    long long wish = std::strtoll(text, &end, 10);
    constexpr long long most_ms = 1000LL * 60 * 60 * 24 * 365;
    if (*end == '\0' && wish > 0 && wish <= most_ms) return std::chrono::milliseconds(wish);
    log(Level::warn, "ggml.graph_time_ms is '%s', which is not a number of milliseconds: graphs have %u", text, graph_wait_ms);
    return std::chrono::milliseconds(graph_wait_ms);
}

} // namespace

GgmlLibrary::GgmlLibrary(const GgmlOptions &options)
    : registry_(registered(options)), threads_(options.threads == nullptr ? "" : options.threads),
      devices_(std::min<size_t>(ggml_backend_reg_dev_count(registry_), max_devices)), graph_time_(graph_time(options.graph_time_ms)) {
    if (device_count() == 0)
        throw InitFailure{InitCode::no_device, std::string("the GGML library '") + options.path + "' offers no device"};
    device(0);
    log(Level::info, "ggml-virtgpu-backend: '%s' is ready: registry %s, %zu devices", options.path, ggml_backend_reg_name(registry_),
        device_count());
}

HostDevice &GgmlLibrary::device(size_t index) {
    HostDevice &found = devices_.at(index);
    if (found.backend == nullptr && found.abandoned == 0) open(found, index);
    return found;
}

ggml_backend_t GgmlLibrary::backend(HostDevice &device) {
    if (device.backend == nullptr) {
        if (device.abandoned == max_abandoned_backends)
            throw InitFailure{InitCode::backend_init_failed, std::string("device '") + ggml_backend_dev_name(device.ggml) + "' has failed " +
                                                                 std::to_string(device.abandoned) + " times: it computes no more"};
        start(device);
    }
    return device.backend.get();
}

void GgmlLibrary::abandon(HostDevice &device) {
    // Within reach for as long as the process lives: what is kept on purpose is no leak.
    static std::array<std::atomic<ggml_backend_t>, max_abandoned_backends> kept;
    static std::atomic<size_t> count{0};
    kept[count++ % kept.size()] = device.backend.release();
    ++device.abandoned;
    log(Level::error, "an exception came out of device %s: a new backend is opened, and the old one kept for ever, as it is",
        ggml_backend_dev_name(device.ggml));
}

void GgmlLibrary::open(HostDevice &device, size_t index) {
    device.ggml = ggml_backend_reg_dev_get(registry_, index);
    if (device.ggml == nullptr)
        throw InitFailure{InitCode::no_device, "the GGML library does not give its device " + std::to_string(index)};
    int threads = start(device);
    ggml_backend_dev_get_props(device.ggml, &device.props);
    ggml_backend_buffer_type_t memory = ggml_backend_dev_buffer_type(device.ggml);
    device.in_host_memory = memory != nullptr && ggml_backend_buft_is_host(memory);
    log(Level::info, "ggml-virtgpu-backend: device %zu is %s (%s), %d threads", index, ggml_backend_dev_name(device.ggml),
        ggml_backend_dev_description(device.ggml), threads);
}

int GgmlLibrary::start(HostDevice &device) {
    device.backend.reset(ggml_backend_dev_init(device.ggml, nullptr));
    if (device.backend == nullptr)
        throw InitFailure{InitCode::backend_init_failed,
                          std::string("device '") + ggml_backend_dev_name(device.ggml) + "' cannot be initialised"};
    watch(device.backend.get());
    return set_threads(device.backend.get());
}

// ggml-cpu's own default is 4 threads, which on fewer cores makes small graphs forty times slower.
int GgmlLibrary::set_threads(ggml_backend_t backend) const {
    auto set =
        reinterpret_cast<ggml_backend_set_n_threads_t>(ggml_backend_reg_get_proc_address(registry_, "ggml_backend_set_n_threads"));
    if (set == nullptr) return 0;
    int threads = wished_threads(threads_.c_str());
    set(backend, threads);
    return threads;
}

// The callback asks whether to abort, after each node.
void GgmlLibrary::watch(ggml_backend_t backend) {
    auto set = reinterpret_cast<ggml_backend_set_abort_callback_t>(
        ggml_backend_reg_get_proc_address(registry_, "ggml_backend_set_abort_callback"));
    if (set != nullptr) set(backend, [](void *library) { return static_cast<GgmlLibrary *>(library)->is_to_end(); }, this);
}

bool GgmlLibrary::is_to_end() {
    // That somebody asks is what a component wants to know that watches over us.
    if (beats_ != nullptr) beats_->fetch_add(1, std::memory_order_relaxed);
    if (cancelled_.load(std::memory_order_relaxed)) return true;
    if (std::chrono::steady_clock::now() <= graph_end_) return false;
    if (!told_of_time_.exchange(true))
        log(Level::error, "a graph is ended after %lld ms, as ggml.graph_time_ms says", static_cast<long long>(graph_time_.count()));
    return true;
}

void GgmlLibrary::start_graph() {
    cancelled_.store(false, std::memory_order_relaxed);
    told_of_time_.store(false, std::memory_order_relaxed);
    graph_end_ = std::chrono::steady_clock::now() + graph_time_;
}

} // namespace apir::host
