// Calls on buffers and their tensors.
#include <cinttypes>
#include <cstring>

#include "cache_lines.hpp"
#include "refusal.hpp"
#include "session.hpp"
#include "tensor_check.hpp"

namespace apir::host {
namespace {

// A tensor of its own in a buffer, as calls 17 to 19 name it: no source, no view.
template <typename Record> ggml_tensor placed(const Record &record, const Buffer &buffer) {
    ggml_tensor tensor{};
    fill(tensor, record);
    tensor.op = GGML_OP_NONE;
    place(tensor, record.data, buffer, extent_of(tensor).strided);
    return tensor;
}

void check_range(const ggml_tensor &tensor, uint64_t offset, uint64_t size) {
    uint64_t limit = ggml_nbytes(&tensor);
    if (!within(offset, size, limit)) refuse("%" PRIu64 " bytes at %" PRIu64 " of a tensor that has %" PRIu64, size, offset, limit);
}

bool same_layout(const ggml_tensor &a, const ggml_tensor &b) {
    return a.type == b.type && std::memcmp(a.ne, b.ne, sizeof a.ne) == 0 && std::memcmp(a.nb, b.nb, sizeof a.nb) == 0;
}

bool overlap(const ggml_tensor &a, const ggml_tensor &b) {
    auto a_at = reinterpret_cast<uintptr_t>(a.data);
    auto b_at = reinterpret_cast<uintptr_t>(b.data);
    return a.buffer == b.buffer && a_at < b_at + ggml_nbytes(&b) && b_at < a_at + ggml_nbytes(&a);
}

// A buffer may lie in the very resource that its data is to come from, or to go to.
void check_apart(const ggml_tensor &tensor, uint64_t offset, const SharedRange &data) {
    if (!ggml_backend_buffer_is_host(tensor.buffer)) return; // its addresses are none
    auto at = reinterpret_cast<uintptr_t>(tensor.data) + offset;
    auto other = reinterpret_cast<uintptr_t>(data.data);
    if (at < other + data.size && other < at + data.size) refuse("%" PRIu64 " bytes onto themselves", data.size);
}

} // namespace

BufferGetBaseReply Session::on_buffer_get_base(const BufferGetBaseRequest &request) { return {buffer(request.buffer).told_base}; }

template <typename Request> void Session::set_tensor(const Request &request) {
    ggml_tensor tensor = placed(request.tensor, buffer(request.buffer));
    check_range(tensor, request.offset, request.size);
    SharedRange data = shared(request.resource, request.size);
    check_apart(tensor, request.offset, data);
    if (ggml_nbytes(&tensor) >= beyond_caches && ggml_backend_buffer_is_host(tensor.buffer)) {
        copy_past_caches(static_cast<uint8_t *>(tensor.data) + request.offset, data.data, request.size);
    } else if (request.size != 0) {
        ggml_backend_tensor_set(&tensor, data.data, request.offset, request.size);
    }
    leave_caches(data.data, request.size); // the guest's next data comes there
}

template <typename Request> void Session::get_tensor(const Request &request) {
    ggml_tensor tensor = placed(request.tensor, buffer(request.buffer));
    check_range(tensor, request.offset, request.size);
    SharedRange data = shared(request.resource, request.size);
    check_apart(tensor, request.offset, data);
    if (ggml_backend_buffer_is_host(tensor.buffer)) {
        copy_for_reader(data.data, static_cast<const uint8_t *>(tensor.data) + request.offset, request.size);
    } else {
        leave_caches(data.data, request.size); // the guest has read what was there
        if (request.size != 0) ggml_backend_tensor_get(&tensor, data.data, request.offset, request.size);
    }
#if defined(APIR_PLANT_WRONG_BYTE)
    static int gets = 0;
    if (++gets % 1000 == 0 && request.size != 0) data.data[0] ^= 1;
#endif
}

template <typename Request> bool Session::copy_tensor(const Request &request) {
    ggml_tensor destination = placed(request.destination, buffer(request.buffer));
    const Buffer *from = buffers_.find(request.source.buffer);
    if (from == nullptr) return false;
    ggml_tensor source = placed(request.source, *from);
    if (!same_layout(source, destination)) return false;
    if (source.data == destination.data && source.buffer == destination.buffer) return true;
    if (overlap(source, destination)) return false;
    if (ggml_nbytes(&source) != 0) ggml_backend_tensor_copy(&source, &destination);
    return true;
}

DispatchCode Session::on_set_tensor_inline(Reader &bytes) {
    SetTensorInlineRequest request;
    if (!read(bytes, request)) refuse("the request is too short");
    ggml_tensor tensor = placed(request.tensor, buffer(request.buffer));
    check_range(tensor, request.offset, request.size);
    const uint8_t *data = bytes.bytes(request.size);
    if (data == nullptr) refuse("%" PRIu64 " bytes that are not all there", request.size);
    if (request.size != 0) ggml_backend_tensor_set(&tensor, data, request.offset, request.size);
    return DispatchCode::ok;
}

BufferSetTensorReply Session::on_buffer_set_tensor(const BufferSetTensorRequest &request) {
    set_tensor(request);
    return {};
}

WideSetTensorReply Session::on_wide_set_tensor(const WideSetTensorRequest &request) {
    set_tensor(request);
    return {};
}

BufferGetTensorReply Session::on_buffer_get_tensor(const BufferGetTensorRequest &request) {
    get_tensor(request);
    return {};
}

WideGetTensorReply Session::on_wide_get_tensor(const WideGetTensorRequest &request) {
    get_tensor(request);
    return {};
}

BufferCpyTensorReply Session::on_buffer_cpy_tensor(const BufferCpyTensorRequest &request) { return {copy_tensor(request)}; }
WideCpyTensorReply Session::on_wide_cpy_tensor(const WideCpyTensorRequest &request) { return {copy_tensor(request)}; }

BufferClearReply Session::on_buffer_clear(const BufferClearRequest &request) {
    ggml_backend_buffer_clear(buffer(request.buffer).ggml.get(), request.value);
    return {};
}

BufferFreeBufferReply Session::on_buffer_free_buffer(const BufferFreeBufferRequest &request) {
    const Buffer &freed = buffer(request.buffer);
    allocated_[ggml_backend_buffer_get_type(freed.ggml.get())] -= freed.allocated;
    kept_graphs_.on_buffer_freed(request.buffer);
#if defined(APIR_PLANT_LEAK)
    (void)buffers_.find(request.buffer)->ggml.release();
#endif
    buffers_.remove(request.buffer);
    return {};
}

} // namespace apir::host
