// The functions that stand in ggml's interface structs, and what their files share.
//
// A slot never throws and never aborts the program, whatever fails: `guarded` turns an exception (no memory) into the
// slot's failure value. Slots that are null say why where they are.
#pragma once

#include "abi/backend_interface.hpp"
#include "guarded.hpp"
#include "remote_device.hpp"

namespace apir::guest {

// A ggml device, the remote device that it stands for, and the one buffer type that it has.
struct DeviceContext {
    std::unique_ptr<RemoteDevice> remote;
    ggml_backend_buffer_type buffer_type;
    ggml_backend_device device;
};

// A registry with its devices: none when set-up failed, and then the cause has been logged.
struct Registry {
    ggml_backend_reg reg = {};
    std::unique_ptr<Session> session; // of all devices, and outlives them
    std::vector<std::unique_ptr<DeviceContext>> devices; // of 0.2: one

    ggml_backend_dev_t device(size_t index = 0) { return &devices.at(index)->device; }
};

// Sets up on the given device.
std::unique_ptr<Registry> make_registry(std::unique_ptr<Device> device);

// The process's registry, set up at the first call; only that call's `make_device` is used. nullptr without memory.
ggml_backend_reg_t process_registry(std::unique_ptr<Device> (*make_device)());

ggml_backend_device make_device(ggml_backend_reg_t reg, DeviceContext *context, bool asynchronous);
ggml_backend_buffer_type make_buffer_type(ggml_backend_dev_t device, RemoteDevice *remote);
ggml_backend_buffer_t make_buffer(ggml_backend_buffer_type_t buft, std::unique_ptr<RemoteBuffer> remote);
ggml_backend_event_t new_event(ggml_backend_dev_t device);
void free_event(ggml_backend_dev_t device, ggml_backend_event_t event);
void synchronize_event(ggml_backend_dev_t device, ggml_backend_event_t event);
ggml_backend_t make_backend(ggml_backend_dev_t device, RemoteDevice *remote);

bool is_own_buffer(ggml_backend_buffer_t buffer);
// Of one of our own buffers.
inline RemoteBuffer &remote_buffer(ggml_backend_buffer_t buffer) { return *static_cast<RemoteBuffer *>(buffer->context); }

} // namespace apir::guest
