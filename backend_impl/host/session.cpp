#include "session.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <exception>

#include "refusal.hpp"

namespace apir::host {
namespace {

// A reply of any call but those with strings (2, 3, 10, 83) fits: checked before acting, so that nothing is made that cannot be told.
constexpr size_t least_reply_room = 24;
// Bases begin here: far from 0, and no address of a process on any platform of ours starts with it.
constexpr uint64_t first_base = uint64_t{1} << 40;

GgmlOptions options_of(uint32_t context, const apir_callbacks &callbacks) {
    auto config = [&](const char *key) { return callbacks.get_config == nullptr ? nullptr : callbacks.get_config(context, key); };
    return {config("ggml.library.path"), config("ggml.library.reg"), config("ggml.threads"), config("ggml.graph_time_ms")};
}

ComputeLimits limits_of(uint32_t context, const apir_callbacks &callbacks) {
    ComputeLimits limits;
    const char *text = callbacks.get_config == nullptr ? nullptr : callbacks.get_config(context, "ggml.graph_work");
    if (text == nullptr || *text == '\0') return limits;
    char *end = nullptr;
    double wish = std::strtod(text, &end);
    if (*end == '\0' && wish > 0) limits.graph_work = wish, limits.node_work = std::min(limits.node_work, wish);
    else log(Level::warn, "ggml.graph_work is '%s', which is not a number above 0: graphs have %.3g steps", text, limits.graph_work);
    return limits;
}

uint64_t memory_limit_of(uint32_t context, const apir_callbacks &callbacks) {
    const char *text = callbacks.get_config == nullptr ? nullptr : callbacks.get_config(context, "ggml.memory");
    if (text == nullptr || *text == '\0') return 0;
    char *end = nullptr;
    long long wish = std::strtoll(text, &end, 10);
    if (*end == '\0' && wish > 0) return static_cast<uint64_t>(wish);
    log(Level::warn, "ggml.memory is '%s', which is not a number of bytes above 0: buffers have what the device says that it has", text);
    return 0;
}

std::chrono::milliseconds pipe_patience_of(uint32_t context, const apir_callbacks &callbacks) {
    const char *text = callbacks.get_config == nullptr ? nullptr : callbacks.get_config(context, "ggml.pipe_wait_ms");
    if (text == nullptr || *text == '\0') return PipeWork::usual_patience;
    char *end = nullptr;
    const long long wish = std::strtoll(text, &end, 10);
    constexpr long long most_ms = 1000LL * 60 * 60 * 24 * 365;
    if (*end == '\0' && wish > 0 && wish <= most_ms) return std::chrono::milliseconds(wish);
    log(Level::warn, "ggml.pipe_wait_ms is '%s', which is not a number of milliseconds: a pipe waits for the guest for %u", text, graph_wait_ms);
    return PipeWork::usual_patience;
}

template <typename Question, typename Answer>
void answer(Session &session, Answer (Session::*act)(const Question &), Reader &request, Writer &reply) {
    Question question;
    if (!read(request, question)) refuse("the request is too short");
    write(reply, (session.*act)(question));
    if (reply.failed()) refuse("the reply does not fit into its resource");
}

} // namespace

Session::Session(uint32_t context, const apir_callbacks &callbacks)
    : memory_(context), library_(options_of(context, callbacks)),
      memory_limit_(memory_limit_of(context, callbacks)), pipe_patience_(pipe_patience_of(context, callbacks)), next_base_(first_base), guarded_(limits_of(context, callbacks)) {
}

ggml_backend_buffer_type_t Session::buffer_type(uint64_t handle) {
    ggml_backend_buffer_type_t *found = buffer_types_.find(handle);
    if (found == nullptr) refuse("%#" PRIx64 " is no handle of a buffer type", handle);
    return *found;
}

Buffer &Session::buffer(uint64_t handle) {
    Buffer *found = buffers_.find(handle);
#if defined(APIR_PLANT_TRUSTED_HANDLE)
    if (found == nullptr) found = reinterpret_cast<Buffer *>(handle);
#endif
    if (found == nullptr) refuse("%#" PRIx64 " is no handle of a buffer", handle);
    return *found;
}

DispatchCode Session::dispatch(const apir_callbacks &callbacks, uint32_t call, Reader &request, Writer &reply) {
#if !defined(APIR_PLANT_MISSING_LOCK)
    std::lock_guard lock(mutex_);
#endif
    callbacks_ = &callbacks;
    try {
        if (reply.remaining() < least_reply_room) refuse("a reply resource with room for %zu bytes", reply.remaining());
        return dispatch_on(library_.device(0), call, request, reply);
    } catch (const std::exception &failure) {
        return refused(call, failure.what());
    }
}

// In words, but not the same ones again and again, and not for ever: a guest that is always refused does not fill the log.
DispatchCode Session::refused(uint32_t call, const char *text) {
    if (last_refusal_ == text || refusals_ == max_logged_refusals) return DispatchCode::failed;
    last_refusal_ = text;
    ++refusals_;
    log(Level::warn, "ggml-virtgpu-backend: %s: %s", call_name(call), text);
    return DispatchCode::failed;
}

// The device holds for the one call: calls come one at a time.
DispatchCode Session::on_on_device(Reader &request, Writer &reply) {
    OnDeviceRequest address;
    if (!read(request, address)) refuse("the request is too short");
    if (address.call == static_cast<uint32_t>(Call::on_device) || address.call == static_cast<uint32_t>(Call::negotiate))
        refuse("call %" PRIu32 " on a device", address.call);
    if (address.device >= library_.device_count()) refuse("device %" PRIu32 " of %zu", address.device, library_.device_count());
    return dispatch_on(opened(address.device), address.call, request, reply);
}

// Sub-requests are read by readers of their own: none reaches into the next one.
DispatchCode Session::on_batch(Reader &request, Writer &reply) {
    BatchRequest batch;
    if (!read(request, batch) || batch.count == 0) refuse("a batch of no calls");
    for (uint32_t i = 0; i < batch.count; ++i) {
        BatchedCall item;
        const uint8_t *bytes = read(request, item) ? request.bytes(item.size) : nullptr;
        if (bytes == nullptr) refuse("a batch that ends before its call %" PRIu32 " of %" PRIu32, i, batch.count);
        auto call = static_cast<Call>(item.call);
        if (call == Call::batch || call == Call::on_device || call == Call::negotiate) refuse("call %" PRIu32 " in a batch", item.call);
        if (item.device >= library_.device_count()) refuse("device %" PRIu32 " of %zu", item.device, library_.device_count());
        Reader own(bytes, item.size);
        uint8_t dropped[least_reply_room];
        Writer nowhere(dropped, sizeof dropped);
        DispatchCode code = dispatch_on(opened(item.device), item.call, own, i + 1 == batch.count ? reply : nowhere);
        if (code != DispatchCode::ok) return code;
    }
    return DispatchCode::ok;
}

HostDevice &Session::opened(uint32_t index) {
    try {
        return library_.device(index);
    } catch (const InitFailure &failure) {
        refuse("%s", failure.text.c_str());
    }
}

DispatchCode Session::dispatch_on(HostDevice &device, uint32_t call, Reader &request, Writer &reply) {
    device_ = &device;
    auto on = [&](auto act) {
        answer(*this, act, request, reply);
        return DispatchCode::ok;
    };
    switch (static_cast<Call>(call)) {
    case Call::device_get_device_count: return on(&Session::on_device_get_device_count);
    case Call::device_get_count: return on(&Session::on_device_get_count);
    case Call::device_get_name: return on(&Session::on_device_get_name);
    case Call::device_get_description: return on(&Session::on_device_get_description);
    case Call::device_get_type: return on(&Session::on_device_get_type);
    case Call::device_get_memory: return on(&Session::on_device_get_memory);
    case Call::device_supports_op: return on(&Session::on_device_supports_op);
    case Call::device_get_buffer_type: return on(&Session::on_device_get_buffer_type);
    case Call::device_get_props: return on(&Session::on_device_get_props);
    case Call::device_buffer_from_ptr: return on(&Session::on_device_buffer_from_ptr);
    case Call::buffer_type_get_name: return on(&Session::on_buffer_type_get_name);
    case Call::buffer_type_get_alignment: return on(&Session::on_buffer_type_get_alignment);
    case Call::buffer_type_get_max_size: return on(&Session::on_buffer_type_get_max_size);
    case Call::buffer_type_is_host: return on(&Session::on_buffer_type_is_host);
    case Call::buffer_type_alloc_buffer: return on(&Session::on_buffer_type_alloc_buffer);
    case Call::buffer_type_get_alloc_size: return on(&Session::on_buffer_type_get_alloc_size);
    case Call::buffer_get_base: return on(&Session::on_buffer_get_base);
    case Call::buffer_set_tensor: return on(&Session::on_buffer_set_tensor);
    case Call::buffer_get_tensor: return on(&Session::on_buffer_get_tensor);
    case Call::buffer_cpy_tensor: return on(&Session::on_buffer_cpy_tensor);
    case Call::buffer_clear: return on(&Session::on_buffer_clear);
    case Call::buffer_free_buffer: return on(&Session::on_buffer_free_buffer);
    case Call::backend_graph_compute: return on(&Session::on_backend_graph_compute);
    case Call::negotiate: return on(&Session::on_negotiate);
    case Call::on_device: return on_on_device(request, reply);
    case Call::wide_supports_op: return on(&Session::on_wide_supports_op);
    case Call::wide_get_alloc_size: return on(&Session::on_wide_get_alloc_size);
    case Call::wide_set_tensor: return on(&Session::on_wide_set_tensor);
    case Call::wide_get_tensor: return on(&Session::on_wide_get_tensor);
    case Call::wide_cpy_tensor: return on(&Session::on_wide_cpy_tensor);
    case Call::wide_graph_compute: return on(&Session::on_wide_graph_compute);
    case Call::pipe_set_tensor: return on(&Session::on_pipe_set_tensor);
    case Call::pipe_get_tensor: return on(&Session::on_pipe_get_tensor);
    // Between guest and component.
    case Call::ring_create:
    case Call::ring_kick: break;
    case Call::batch: return on_batch(request, reply);
    case Call::alloc_with_base: return on(&Session::on_alloc_with_base);
    case Call::set_tensor_inline: return on_set_tensor_inline(request);
    case Call::device_summary: return on(&Session::on_device_summary);
    case Call::graph_keep: return on(&Session::on_graph_keep);
    case Call::graph_run: return on(&Session::on_graph_run);
    case Call::graph_patch: return on(&Session::on_graph_patch);
    }
    return DispatchCode::unknown;
}

} // namespace apir::host
