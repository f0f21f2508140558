// The real ggml backend library behind the host library: opened, registered, its first device initialised, others when they
// are first used.
#pragma once

#include <atomic>
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
    const char *threads; // key ggml.threads; NULL: as many as the process may use cores
};

// A device of the library with the one backend that computes on it.
struct HostDevice {
    struct FreeBackend {
        void operator()(ggml_backend_t backend) const { ggml_backend_free(backend); }
    };

    ggml_backend_dev_t ggml = nullptr;
    ggml_backend_dev_props props{};
    std::unique_ptr<ggml_backend, FreeBackend> backend;
    uint64_t buffer_type = 0; // handle of its default buffer type, once it was asked for
};

class GgmlLibrary {
  public:
    // Throws InitFailure.
    explicit GgmlLibrary(const GgmlOptions &options);

    size_t device_count() const { return devices_.size(); }
    // Ready to compute. Throws InitFailure; std::out_of_range for an index beyond the count.
    HostDevice &device(size_t index);
    // From now on raised after each node that is computed, where the backend can tell.
    void beat(std::atomic<uint64_t> *beats) { beats_ = beats; }

  private:
    void open(HostDevice &device, size_t index);
    int set_threads(ggml_backend_t backend) const;
    void watch(ggml_backend_t backend);

    ggml_backend_reg_t registry_ = nullptr;
    std::string threads_;
    std::vector<HostDevice> devices_;
    std::atomic<uint64_t> *beats_ = nullptr;
};

} // namespace apir::host
