// ggml's backend (stream) interface: graphs.
#include "ggml_slots.hpp"
#include "stream.hpp"

namespace apir::guest {

namespace {

// 16 bytes of our own, by which a program can know our backends.
ggml_guid guid = {0x6b, 0x1d, 0x8e, 0x02, 0x5c, 0x74, 0x4f, 0x39, 0x9a, 0xe3, 0x17, 0xc8, 0x40, 0xd6, 0x2b, 0xf5};

Stream &stream_of(ggml_backend_t backend) { return *static_cast<Stream *>(backend->context); }

const char *get_name(ggml_backend_t backend) { return stream_of(backend).device().name().c_str(); }

void free_backend(ggml_backend_t backend) {
    guarded("free", 0, [&] {
        delete static_cast<Stream *>(backend->context);
        delete backend;
        return 0;
    });
}

ggml_status graph_compute(ggml_backend_t backend, ggml_cgraph *graph) {
    return guarded("graph_compute", GGML_STATUS_FAILED, [&] { return stream_of(backend).compute(graph); });
}

} // namespace

ggml_backend_t make_backend(ggml_backend_dev_t device, RemoteDevice *remote) {
    auto stream = std::make_unique<Stream>(*remote);
    auto *backend = new ggml_backend{};
    backend->guid = &guid;
    backend->iface.get_name = get_name;
    backend->iface.free = free_backend;
    // The asynchronous slots and synchronize stay null: protocol 0.2 has no asynchronous calls, every call has been
    // carried out when it returns. libggml-base then uses the synchronous ones.
    // The graph plan slots stay null: nothing in ggml uses plans, and the protocol has none.
    backend->iface.graph_compute = graph_compute;
    // event_record and event_wait stay null, as event_new does: without asynchronous calls there is nothing to wait for.
    // graph_optimize stays null: the order of nodes is the host backend's concern, which sees each graph whole.
    backend->device = device;
    backend->context = stream.release();
    return backend;
}

} // namespace apir::guest
