// Calls that ask about the device, and the negotiation.
#include <cinttypes>

#include "op_rules.hpp"
#include "refusal.hpp"
#include "session.hpp"
#include "supports_op.hpp"

namespace apir::host {
namespace {

// Extensions of this library: none yet.
constexpr uint64_t known_extensions = 0;
constexpr uint32_t negotiation_version = 1;

} // namespace

DeviceGetDeviceCountReply Session::on_device_get_device_count(const DeviceGetDeviceCountRequest &) {
    return {static_cast<int32_t>(library_.device_count())};
}

DeviceGetCountReply Session::on_device_get_count(const DeviceGetCountRequest &) {
    return {static_cast<int32_t>(library_.device_count())};
}

DeviceGetNameReply Session::on_device_get_name(const DeviceGetNameRequest &) { return {ggml_backend_dev_name(library_.device())}; }

DeviceGetDescriptionReply Session::on_device_get_description(const DeviceGetDescriptionRequest &) {
    return {ggml_backend_dev_description(library_.device())};
}

DeviceGetTypeReply Session::on_device_get_type(const DeviceGetTypeRequest &) {
    return {static_cast<uint32_t>(ggml_backend_dev_type(library_.device()))};
}

DeviceGetMemoryReply Session::on_device_get_memory(const DeviceGetMemoryRequest &) {
    size_t free = 0;
    size_t total = 0;
    ggml_backend_dev_memory(library_.device(), &free, &total);
    return {free, total};
}

DeviceSupportsOpReply Session::on_device_supports_op(const DeviceSupportsOpRequest &request) {
    OpTensors op(request.op);
    // What cannot be remoted at all is not an error here: the guest asks in order to know.
    return {op.acceptable(library_.device()) && ggml_backend_dev_supports_op(library_.device(), op.tensor())};
}

DeviceGetBufferTypeReply Session::on_device_get_buffer_type(const DeviceGetBufferTypeRequest &) {
    return {handle_of(ggml_backend_dev_buffer_type(library_.device()))};
}

DeviceGetPropsReply Session::on_device_get_props(const DeviceGetPropsRequest &) {
    const ggml_backend_dev_caps &caps = library_.props().caps;
    return {caps.async, caps.host_buffer, caps.buffer_from_host_ptr, caps.events, caps.mmap_support};
}

NegotiateReply Session::on_negotiate(const NegotiateRequest &request) {
    if (request.version != negotiation_version) refuse("negotiation version %" PRIu32, request.version);
    return {request.offered & known_extensions};
}

} // namespace apir::host
