// ggml's registry interface, and how the library comes up.
#include "ggml_slots.hpp"

namespace apir::guest {

namespace {

Registry &context_of(ggml_backend_reg_t reg) { return *static_cast<Registry *>(reg->context); }

const char *get_name(ggml_backend_reg_t) { return "ggml-virtgpu"; }

size_t get_device_count(ggml_backend_reg_t reg) { return context_of(reg).devices.size(); }

ggml_backend_dev_t get_device(ggml_backend_reg_t reg, size_t index) {
    return index < context_of(reg).devices.size() ? context_of(reg).device(index) : nullptr;
}

void offer(Registry &context, std::unique_ptr<RemoteDevice> remote) {
    log(LogLevel::info, "device %s: %s", remote->name().c_str(), remote->description().c_str());
    auto added = std::make_unique<DeviceContext>();
    added->buffer_type = make_buffer_type(&added->device, remote.get());
    added->device = make_device(&context.reg, added.get(), remote->asynchronous());
    added->remote = std::move(remote);
    context.devices.push_back(std::move(added));
}

void bring_up(Registry &context, std::unique_ptr<Device> device) {
    Config config = read_config();
    set_log_level(config.log_level);
    std::string error;
    context.session = Session::start(std::move(device), config, error);
    size_t count = context.session == nullptr ? 0 : RemoteDevice::count(*context.session, error);
    for (uint32_t index = 0; index < count; ++index) {
        std::unique_ptr<RemoteDevice> remote = RemoteDevice::ask(*context.session, index, error);
        if (remote != nullptr) {
            offer(context, std::move(remote));
        } else if (index == 0) {
            break;
        } else {
            log(LogLevel::warn, "the host's device %u is left out: %s", index, error.c_str());
        }
    }
    if (!context.devices.empty()) return;
    context.session.reset();
    log(LogLevel::error, "backend not available: %s", error.c_str());
}

} // namespace

std::unique_ptr<Registry> make_registry(std::unique_ptr<Device> device) {
    auto context = std::make_unique<Registry>();
    context->reg.api_version = APIR_GGML_API;
    context->reg.iface.get_name = get_name;
    context->reg.iface.get_device_count = get_device_count;
    context->reg.iface.get_device = get_device;
    // get_proc_address stays null: the library has no functions beyond the interface.
    context->reg.context = context.get();
    guarded("set-up", 0, [&] {
        bring_up(*context, std::move(device));
        return 0;
    });
    return context;
}

// Never destroyed: programs free buffers and backends from their own static destructors, which may run after ours would.
// The kernel ends the context with the process.
ggml_backend_reg_t process_registry(std::unique_ptr<Device> (*make_device)()) {
    static Registry *only =
        guarded("registry", static_cast<Registry *>(nullptr), [&] { return make_registry(make_device()).release(); });
    return only == nullptr ? nullptr : &only->reg;
}

} // namespace apir::guest
