// What libggml-virtgpu.so exports. ggml's loader calls ggml_backend_init; programs that link the library directly call
// ggml_backend_virtgpu_reg. ggml_backend_score is not offered: it only chooses between several variants of one library.
#include "drm_device.hpp"
#include "ggml_slots.hpp"

namespace {

std::unique_ptr<apir::guest::Device> make_drm_device() { return std::make_unique<apir::guest::DrmDevice>(); }

} // namespace

#define APIR_EXPORT extern "C" __attribute__((visibility("default")))

APIR_EXPORT ggml_backend_reg_t ggml_backend_virtgpu_reg() { return apir::guest::process_registry(make_drm_device); }

APIR_EXPORT ggml_backend_reg_t ggml_backend_init() { return apir::guest::process_registry(make_drm_device); }
