// ggml's buffer type interface: the host device's default buffer type.
#include "ggml_slots.hpp"
#include "tensor_bytes.hpp"

namespace apir::guest {

namespace {

RemoteDevice &remote_of(ggml_backend_buffer_type_t buft) { return *static_cast<RemoteDevice *>(buft->context); }

const char *get_name(ggml_backend_buffer_type_t buft) { return remote_of(buft).buffer_type_name().c_str(); }

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    return guarded("alloc_buffer", ggml_backend_buffer_t{nullptr}, [&]() -> ggml_backend_buffer_t {
        std::unique_ptr<RemoteBuffer> remote = remote_of(buft).allocate(size);
        if (remote != nullptr) return make_buffer(buft, std::move(remote));
        log(LogLevel::error, "cannot allocate a buffer of %zu bytes on %s", size, remote_of(buft).name().c_str());
        return nullptr;
    });
}

size_t get_alignment(ggml_backend_buffer_type_t buft) { return remote_of(buft).alignment(); }

size_t get_max_size(ggml_backend_buffer_type_t buft) { return remote_of(buft).max_size(); }

size_t get_alloc_size(ggml_backend_buffer_type_t buft, const ggml_tensor *tensor) {
    const size_t bytes = tensor_bytes(tensor);
    return guarded("get_alloc_size", bytes, [&] { return remote_of(buft).alloc_size(tensor, bytes); });
}

} // namespace

ggml_backend_buffer_type make_buffer_type(ggml_backend_dev_t device, RemoteDevice *remote) {
    ggml_backend_buffer_type buft = {};
    buft.iface.get_name = get_name;
    buft.iface.alloc_buffer = alloc_buffer;
    // alloc_buffer_n and get_alloc_size_n stay null: protocol 0.2 has no such calls, and libggml-base then does the same
    // by way of alloc_buffer and get_alloc_size.
    buft.iface.get_alignment = get_alignment;
    buft.iface.get_max_size = get_max_size;
    buft.iface.get_alloc_size = get_alloc_size;
    // is_host stays null, which means no: a copied buffer's addresses are made up, and one buffer type has both kinds.
    buft.device = device;
    buft.context = remote;
    return buft;
}

} // namespace apir::guest
