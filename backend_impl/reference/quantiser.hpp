// A device that computes one thing: floats as a quantised type, by libggml-base's own ggml_quantize_chunk.
//
// ggml-cpu's copies are no substitute: they round otherwise, have no importance, and lack most types.
#pragma once

#include <abi/backend_interface.hpp>

namespace apir::reference {

// The name by which the device is found on the other side.
inline constexpr const char *quantiser_name = "quantiser";
// First parameter of a CPY: whether an importance of 1 for every element is given.
inline constexpr int32_t without_importance = 0;
inline constexpr int32_t importance_of_one = 1;

// The device; its buffers are those of `memory`, a device of host memory. One for the process.
ggml_backend_dev_t quantiser_device(ggml_backend_reg_t registry, ggml_backend_dev_t memory);

// Threads that its backends compute with from now on. False when the backend is none of its own.
bool set_quantiser_threads(ggml_backend_t backend, int threads);

} // namespace apir::reference
