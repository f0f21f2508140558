// The real ggml backend library behind the host library: opened, registered, its first device initialised.
#pragma once

#include <memory>
#include <string>
#include <utility>

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

class GgmlLibrary {
  public:
    // Throws InitFailure.
    explicit GgmlLibrary(const GgmlOptions &options);

    ggml_backend_dev_t device() const { return device_; }
    ggml_backend_t backend() const { return backend_.get(); }
    size_t device_count() const { return ggml_backend_reg_dev_count(registry_); }
    const ggml_backend_dev_props &props() const { return props_; }

  private:
    struct FreeBackend {
        void operator()(ggml_backend_t backend) const { ggml_backend_free(backend); }
    };

    ggml_backend_reg_t registry_ = nullptr;
    ggml_backend_dev_t device_ = nullptr;
    ggml_backend_dev_props props_{};
    std::unique_ptr<ggml_backend, FreeBackend> backend_;
};

} // namespace apir::host
