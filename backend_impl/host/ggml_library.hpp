// The real ggml backend library behind the host library: opened, registered, its first device initialised, others when they
// are first used.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <apir_gen.hpp>
#include <ggml-backend.h>

namespace apir::host {

// Why a context cannot be initialised; the text follows the documented prefix in the log.
struct InitFailure {
    InitCode code;
    std::string text;
};

struct GgmlOptions {
    const char *path; // key ggml.library.path; NULL: not configured
    const char *registration; // key ggml.library.reg; NULL: ggml_backend_init
    const char *threads; // key ggml.threads; NULL: as many as the process may use cores, up to GGML_MAX_N_THREADS
    const char *graph_time_ms; // key ggml.graph_time_ms; NULL: graph_wait_ms of the protocol
};

// A device of the library with the one backend that computes on it.
struct HostDevice {
    struct FreeBackend {
        void operator()(ggml_backend_t backend) const { ggml_backend_free(backend); }
    };

    ggml_backend_dev_t ggml = nullptr;
    ggml_backend_dev_props props{};
    std::unique_ptr<ggml_backend, FreeBackend> backend;
    bool in_host_memory = false; // its kernels run in this process's memory
    uint64_t buffer_type = 0; // handle of its default buffer type, once it was asked for
    int abandoned = 0; // backends
};

// Backends of a device that may be left behind, each with what it holds.
inline constexpr int max_abandoned_backends = 64;

class GgmlLibrary {
  public:
    // Throws InitFailure.
    explicit GgmlLibrary(const GgmlOptions &options);

    size_t device_count() const { return devices_.size(); }
    // Ready to compute. Throws InitFailure; std::out_of_range for an index beyond the count.
    HostDevice &device(size_t index);
    // To compute on a device with: a new one where the last was abandoned. Throws InitFailure.
    ggml_backend_t backend(HostDevice &device);
    // What a backend out of which an exception came holds may be freed memory (ggml-cpu's work buffer): it is not used again, and never
    // freed.
    void abandon(HostDevice &device);
    // From now on raised after each node that is computed, where the backend can tell.
    void beat(std::atomic<uint64_t> *beats) { beats_ = beats; }
    // nullptr: nobody wants to see it.
    std::atomic<uint64_t> *beats() const { return beats_; }

    // A graph begins: from now on it has its time.
    void start_graph();
    // Ends the graph under way after the node that it is at, where the backend can; from any thread.
    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

  private:
    void open(HostDevice &device, size_t index);
    // The number of its threads.
    int start(HostDevice &device);
    int set_threads(ggml_backend_t backend) const;
    void watch(ggml_backend_t backend);
    bool is_to_end();

    ggml_backend_reg_t registry_ = nullptr;
    std::string threads_;
    std::vector<HostDevice> devices_;
    std::atomic<uint64_t> *beats_ = nullptr;
    std::chrono::milliseconds graph_time_;
    std::chrono::steady_clock::time_point graph_end_;
    std::atomic<bool> cancelled_{false};
    std::atomic<bool> told_of_time_{false}; // ggml's threads ask all at once
};

} // namespace apir::host
