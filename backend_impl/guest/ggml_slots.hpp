// The functions that stand in ggml's interface structs, and what their files share.
//
// A slot never throws and never aborts the program, whatever fails: `guarded` turns an exception (no memory) into the
// slot's failure value. Slots that are null say why where they are.
#pragma once

#include "abi/backend_interface.hpp"
#include "guarded.hpp"
#include "registry.hpp"

namespace apir::guest {

ggml_backend_device make_device(ggml_backend_reg_t reg, DeviceContext *context);
ggml_backend_buffer_type make_buffer_type(ggml_backend_dev_t device, DeviceContext *context);
ggml_backend_buffer_t make_buffer(ggml_backend_buffer_type_t buft, std::unique_ptr<RemoteBuffer> remote);
ggml_backend_event_t new_event(ggml_backend_dev_t device);
void free_event(ggml_backend_dev_t device, ggml_backend_event_t event);
void synchronize_event(ggml_backend_dev_t device, ggml_backend_event_t event);
ggml_backend_t make_backend(ggml_backend_dev_t device, RemoteDevice &remote);

bool is_own_buffer(ggml_backend_buffer_t buffer);
// Of one of our own buffers.
inline RemoteBuffer &remote_buffer(ggml_backend_buffer_t buffer) { return *static_cast<RemoteBuffer *>(buffer->context); }

} // namespace apir::guest
