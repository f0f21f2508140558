// ggml's device interface.
#include "ggml_slots.hpp"

namespace apir::guest {

namespace {

// Below this many rows a matrix product is not worth carrying its weights over; the number is the one that ggml's GPU
// backends use.
constexpr int64_t offload_rows = 32;

DeviceContext &context_of(ggml_backend_dev_t device) { return *static_cast<DeviceContext *>(device->context); }
const DeviceFacts &facts_of(ggml_backend_dev_t device) { return context_of(device).facts; }

const char *get_name(ggml_backend_dev_t device) { return facts_of(device).name.c_str(); }

const char *get_description(ggml_backend_dev_t device) { return facts_of(device).description.c_str(); }

void get_memory(ggml_backend_dev_t device, size_t *free, size_t *total) {
    *free = 0;
    *total = 0;
    guarded("get_memory", 0, [&] {
        with_device(context_of(device), [&](RemoteDevice &remote) { remote.memory(*free, *total); });
        return 0;
    });
}

enum ggml_backend_dev_type get_type(ggml_backend_dev_t device) { return facts_of(device).type; }

void get_props(ggml_backend_dev_t device, ggml_backend_dev_props *props) {
    *props = {};
    props->name = get_name(device);
    props->description = get_description(device);
    get_memory(device, &props->memory_free, &props->memory_total);
    props->type = get_type(device);
    // device_id stays null: the host's PCI address means nothing in the guest.
    props->caps.async = facts_of(device).asynchronous;
    props->caps.events = facts_of(device).asynchronous;
    // host_buffer and buffer_from_host_ptr stay false: see the slots. What the host's device can of these it can for the host
    // library.
    props->caps.mmap_support = facts_of(device).mmap_support;
}

ggml_backend_t init_backend(ggml_backend_dev_t device, const char *) {
    return guarded("init_backend", ggml_backend_t{nullptr}, [&] {
        Hold remote(context_of(device));
        // Whoever had one of a lost device would keep it lost.
        if (remote->lost()) {
            log(LogLevel::error, "init: the device is lost");
            return ggml_backend_t{nullptr};
        }
        ggml_backend_t backend = make_backend(device, *remote);
        remote.keep();
        return backend;
    });
}

ggml_backend_buffer_type_t get_buffer_type(ggml_backend_dev_t device) { return &context_of(device).buffer_type; }

// Never called by a program that reads the capabilities; libggml-base calls it without a look at the slot, so it is there.
// The guest's ordinary memory cannot be mapped by the host.
ggml_backend_buffer_t buffer_from_host_ptr(ggml_backend_dev_t, void *, size_t, size_t) {
    log(LogLevel::warn, "buffer_from_host_ptr: the host cannot use the guest's memory");
    return nullptr;
}

bool supports_op(ggml_backend_dev_t device, const ggml_tensor *op) {
    return guarded("supports_op", false, [&] {
        bool supported = false;
        with_device(context_of(device), [&](RemoteDevice &remote) { supported = remote.supports_op(op); });
        return supported;
    });
}

bool supports_buft(ggml_backend_dev_t device, ggml_backend_buffer_type_t buft) { return buft == get_buffer_type(device); }

int64_t rows_of(const ggml_tensor *op) {
    switch (op->op) {
    case GGML_OP_GET_ROWS: return 0;
    case GGML_OP_MUL_MAT: return op->ne[1];
    case GGML_OP_MUL_MAT_ID:
    case GGML_OP_ROPE:
    case GGML_OP_ROPE_BACK: return op->ne[2];
    default: return ggml_nrows(op);
    }
}

// Asked for ops whose weights lie in the guest's memory. They would have to be carried over each time: worth it for many
// rows on a GPU, never for the host's CPU.
bool offload_op(ggml_backend_dev_t device, const ggml_tensor *op) {
    return facts_of(device).computes_on_gpu() && rows_of(op) >= offload_rows;
}

} // namespace

ggml_backend_device make_device(ggml_backend_reg_t reg, DeviceContext *context) {
    ggml_backend_device device = {};
    device.iface.get_name = get_name;
    device.iface.get_description = get_description;
    device.iface.get_memory = get_memory;
    device.iface.get_type = get_type;
    device.iface.get_props = get_props;
    device.iface.init_backend = init_backend;
    device.iface.get_buffer_type = get_buffer_type;
    // get_host_buffer_type stays null: there is no memory of the guest that transfers to the host are quicker from.
    device.iface.buffer_from_host_ptr = buffer_from_host_ptr;
    device.iface.supports_op = supports_op;
    device.iface.supports_buft = supports_buft;
    device.iface.offload_op = offload_op;
    if (context->facts.asynchronous) {
        device.iface.event_new = new_event;
        device.iface.event_free = free_event;
        device.iface.event_synchronize = synchronize_event;
    }
    // Otherwise these stay null: no asynchronous calls, so nothing to mark or to wait for.
    device.reg = reg;
    device.context = context;
    return device;
}

} // namespace apir::guest
