// Calls that ask about the device, and the negotiation.
#include <cinttypes>

#include "op_rules.hpp"
#include "refusal.hpp"
#include "session.hpp"
#include "supports_op.hpp"

namespace apir::host {
namespace {

constexpr uint32_t negotiation_version = 1;

// What cannot be remoted at all is not an error: the guest asks in order to know.
bool supported(const OpTensors &op, ggml_backend_dev_t device) {
    return op.acceptable(device) && op.will_lie_well(device) && ggml_backend_dev_supports_op(device, op.tensor());
}

// Nor is what cannot be a tensor here, such as one of a type that only the guest's ggml has: it would fail calls that go along with the question.
template <typename Records> bool can_be_asked(const Records &records, ggml_backend_dev_t device) {
    try {
        return supported(OpTensors(records), device);
    } catch (const Refusal &) {
        return false;
    }
}

} // namespace

DeviceGetDeviceCountReply Session::on_device_get_device_count(const DeviceGetDeviceCountRequest &) {
    return {static_cast<int32_t>(library_.device_count())};
}

DeviceGetCountReply Session::on_device_get_count(const DeviceGetCountRequest &) {
    return {static_cast<int32_t>(library_.device_count())};
}

DeviceGetNameReply Session::on_device_get_name(const DeviceGetNameRequest &) { return {ggml_backend_dev_name(device().ggml)}; }

DeviceGetDescriptionReply Session::on_device_get_description(const DeviceGetDescriptionRequest &) {
    return {ggml_backend_dev_description(device().ggml)};
}

DeviceGetTypeReply Session::on_device_get_type(const DeviceGetTypeRequest &) {
    return {static_cast<uint32_t>(ggml_backend_dev_type(device().ggml))};
}

DeviceGetMemoryReply Session::on_device_get_memory(const DeviceGetMemoryRequest &) {
    size_t free = 0;
    size_t total = 0;
    ggml_backend_dev_memory(device().ggml, &free, &total);
    return {free, total};
}

DeviceSupportsOpReply Session::on_device_supports_op(const DeviceSupportsOpRequest &request) {
    return {can_be_asked(request.op, device().ggml)};
}

WideSupportsOpReply Session::on_wide_supports_op(const WideSupportsOpRequest &request) {
    return {can_be_asked(request.tensors, device().ggml)};
}

DeviceGetBufferTypeReply Session::on_device_get_buffer_type(const DeviceGetBufferTypeRequest &) {
    return {handle_of(device())};
}

DeviceGetPropsReply Session::on_device_get_props(const DeviceGetPropsRequest &) {
    const ggml_backend_dev_caps &caps = device().props.caps;
    return {caps.async, caps.host_buffer, caps.buffer_from_host_ptr, caps.events, caps.mmap_support};
}

DeviceSummaryReply Session::on_device_summary(const DeviceSummaryRequest &) {
    DeviceSummaryReply reply;
    reply.name = ggml_backend_dev_name(device().ggml);
    reply.description = ggml_backend_dev_description(device().ggml);
    reply.type = static_cast<uint32_t>(ggml_backend_dev_type(device().ggml));
    DeviceGetMemoryReply memory = on_device_get_memory({});
    reply.free = memory.free;
    reply.total = memory.total;
    reply.buffer_from_host_ptr = device().props.caps.buffer_from_host_ptr;
    reply.mmap_support = device().props.caps.mmap_support;
    reply.buft = handle_of(device());
    ggml_backend_buffer_type_t type = buffer_type(reply.buft);
    reply.buft_name = ggml_backend_buft_name(type);
    reply.alignment = ggml_backend_buft_get_alignment(type);
    reply.max_size = ggml_backend_buft_get_max_size(type);
    return reply;
}

NegotiateReply Session::on_negotiate(const NegotiateRequest &request) {
    if (request.version != negotiation_version) refuse("negotiation version %" PRIu32, request.version);
    uint64_t known = host_library_extensions;
    // A call that waits for the guest must not hold up who serves others, nor look as if it hung.
    if (!may_wait()) known &= ~static_cast<uint64_t>(Extension::pipes);
    return {request.offered & known};
}

} // namespace apir::host
