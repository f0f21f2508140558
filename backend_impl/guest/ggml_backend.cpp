// ggml's backend (stream) interface: graphs.
#include "ggml_slots.hpp"
#include "stream.hpp"

namespace apir::guest {

namespace {

// 16 bytes of our own, by which a program can know our backends.
ggml_guid guid = {0x6b, 0x1d, 0x8e, 0x02, 0x5c, 0x74, 0x4f, 0x39, 0x9a, 0xe3, 0x17, 0xc8, 0x40, 0xd6, 0x2b, 0xf5};

Stream &stream_of(ggml_backend_t backend) { return *static_cast<Stream *>(backend->context); }

DeviceContext &context_of(ggml_backend_t backend) { return *static_cast<DeviceContext *>(backend->device->context); }

// Of what outlives the backend.
const char *get_name(ggml_backend_t backend) { return context_of(backend).facts.name.c_str(); }

void free_backend(ggml_backend_t backend) {
    if (in_forked_child()) return; // goes with the process
    guarded("free", 0, [&] {
        const std::unique_ptr<ggml_backend> ended(backend);
        const Hold device(stream_of(backend).device());
        delete static_cast<Stream *>(backend->context);
        return 0;
    });
}

ggml_status graph_compute(ggml_backend_t backend, ggml_cgraph *graph) {
    return guarded("graph_compute", GGML_STATUS_FAILED, [&] { return stream_of(backend).compute(graph); });
}

void set_tensor_async(ggml_backend_t backend, ggml_tensor *tensor, const void *data, size_t offset, size_t size) {
    guarded("set_tensor_async", 0, [&] {
        stream_of(backend).set(tensor, data, offset, size);
        return 0;
    });
}

void get_tensor_async(ggml_backend_t backend, const ggml_tensor *tensor, void *data, size_t offset, size_t size) {
    guarded("get_tensor_async", 0, [&] {
        stream_of(backend).get(tensor, data, offset, size);
        return 0;
    });
}

void synchronize(ggml_backend_t backend) {
    guarded("synchronize", 0, [&] {
        stream_of(backend).synchronize();
        return 0;
    });
}

// A place in the order of a stream's calls.
struct Place {
    std::shared_ptr<InFlight> in_flight; // of the stream that recorded the event last
    uint64_t number = 0;

    void await() const {
        if (in_flight != nullptr) in_flight->await(number);
    }
};

struct EventContext {
    std::mutex mutex;
    Place place;
};

EventContext &context_of(ggml_backend_event_t event) { return *static_cast<EventContext *>(event->context); }

Place place_of(ggml_backend_event_t event) {
    EventContext &context = context_of(event);
    std::lock_guard lock(context.mutex);
    return context.place;
}

void event_record(ggml_backend_t backend, ggml_backend_event_t event) {
    guarded("event_record", 0, [&] {
        const std::shared_ptr<InFlight> &in_flight = stream_of(backend).in_flight();
        const Place place{in_flight, in_flight->last()};
        EventContext &context = context_of(event);
        std::lock_guard lock(context.mutex);
        context.place = place;
        return 0;
    });
}

// What is sent from now on is carried out behind all that was sent before, by whatever stream. But transfers of shared buffers are
// not sent, and wait for the calls of their own stream only: those of another one have to be over now.
void event_wait(ggml_backend_t backend, ggml_backend_event_t event) {
    if (event->device == nullptr || event->device->reg != backend->device->reg) return ggml_backend_event_synchronize(event);
    guarded("event_wait", 0, [&] {
        const Place place = place_of(event);
        if (place.in_flight != stream_of(backend).in_flight()) place.await();
        return 0;
    });
}

} // namespace

ggml_backend_event_t new_event(ggml_backend_dev_t device) {
    return guarded("event_new", ggml_backend_event_t{nullptr}, [&] {
        auto context = std::make_unique<EventContext>();
        auto *event = new ggml_backend_event{device, context.get()};
        context.release();
        return event;
    });
}

void free_event(ggml_backend_dev_t, ggml_backend_event_t event) {
    if (in_forked_child()) return; // goes with the process
    delete static_cast<EventContext *>(event->context);
    delete event;
}

void synchronize_event(ggml_backend_dev_t, ggml_backend_event_t event) {
    guarded("event_synchronize", 0, [&] {
        place_of(event).await();
        return 0;
    });
}

ggml_backend_t make_backend(ggml_backend_dev_t device, RemoteDevice &remote) {
    auto stream = std::make_unique<Stream>(remote);
    auto *backend = new ggml_backend{};
    backend->guid = &guid;
    backend->iface.get_name = get_name;
    backend->iface.free = free_backend;
    // The graph plan slots stay null: nothing in ggml uses plans, and the protocol has none.
    backend->iface.graph_compute = graph_compute;
    if (remote.asynchronous()) {
        backend->iface.set_tensor_async = set_tensor_async;
        backend->iface.get_tensor_async = get_tensor_async;
        backend->iface.synchronize = synchronize;
        backend->iface.event_record = event_record;
        backend->iface.event_wait = event_wait;
        // cpy_tensor_async and the 2-D slots stay null: libggml-base then copies by way of the others.
    }
    // Otherwise these stay null too: protocol 0.2 has no asynchronous calls, every call but a write has been carried out when it returns, and whatever follows a write sees it.
    // libggml-base then uses the synchronous ones.
    // graph_optimize stays null: the order of nodes is the host backend's concern, which sees each graph whole.
    backend->device = device;
    backend->context = stream.release();
    return backend;
}

} // namespace apir::guest
