// ggml's buffer type interface: the host device's default buffer type.
#include "ggml_slots.hpp"
#include "tensor_bytes.hpp"

namespace apir::guest {

namespace {

DeviceContext &context_of(ggml_backend_buffer_type_t buft) { return *static_cast<DeviceContext *>(buft->context); }

const char *get_name(ggml_backend_buffer_type_t buft) { return context_of(buft).facts.buffer_type_name.c_str(); }

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t buft, size_t size) {
    return guarded("alloc_buffer", ggml_backend_buffer_t{nullptr}, [&]() -> ggml_backend_buffer_t {
        DeviceContext &context = context_of(buft);
        for (int attempt = 0; attempt < 2; ++attempt) {
            Hold remote(context);
            if (std::unique_ptr<RemoteBuffer> buffer = remote->allocate(size)) {
                ggml_backend_buffer_t made = make_buffer(buft, std::move(buffer));
                if (made != nullptr) remote.keep();
                return made;
            }
            if (!remote.lost_meanwhile()) break;
        }
        log(LogLevel::error, "cannot allocate a buffer of %zu bytes on %s", size, context.facts.name.c_str());
        return nullptr;
    });
}

size_t get_alignment(ggml_backend_buffer_type_t buft) { return context_of(buft).facts.alignment; }

size_t get_max_size(ggml_backend_buffer_type_t buft) { return context_of(buft).facts.max_size; }

size_t get_alloc_size(ggml_backend_buffer_type_t buft, const ggml_tensor *tensor) {
    const size_t bytes = tensor_bytes(tensor);
    if (!RemoteDevice::may_need_more(tensor)) return bytes;
    return guarded("get_alloc_size", bytes, [&] {
        size_t size = 0;
        with_device(context_of(buft), [&](RemoteDevice &remote) { size = remote.alloc_size(tensor, bytes); });
        return size;
    });
}

} // namespace

ggml_backend_buffer_type make_buffer_type(ggml_backend_dev_t device, DeviceContext *context) {
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
    buft.context = context;
    return buft;
}

} // namespace apir::guest
