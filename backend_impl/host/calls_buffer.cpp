// Calls on buffers and their tensors.
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "cache_lines.hpp"
#include "pipe_work.hpp"
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

// The host's memory is copied in pieces that leave the guest something to do meanwhile; a device has each piece cost it more than that.
PipePieces pieces_of(const ggml_tensor &tensor, const PipeArea &area) {
    constexpr size_t host_piece = size_t{128} << 10;
    constexpr size_t device_piece = size_t{1} << 20;
    if (ggml_backend_buffer_is_host(tensor.buffer)) return {1, host_piece};
    const size_t piece = std::max<size_t>(std::min<size_t>(device_piece, area.room / 2), 1);
    return {piece, piece};
}

// Two buffers may lie in one resource.
bool share_addresses(const ggml_tensor &a, const ggml_tensor &b) {
    return a.buffer == b.buffer || (ggml_backend_buffer_is_host(a.buffer) && ggml_backend_buffer_is_host(b.buffer));
}

bool overlap(const ggml_tensor &a, const ggml_tensor &b) {
    auto a_at = reinterpret_cast<uintptr_t>(a.data);
    auto b_at = reinterpret_cast<uintptr_t>(b.data);
    return share_addresses(a, b) && a_at < b_at + ggml_nbytes(&b) && b_at < a_at + ggml_nbytes(&a);
}

// A buffer may lie in the very resource that its data is to come from, or to go to.
void check_apart(const ggml_tensor &tensor, uint64_t offset, uint64_t size, const SharedRange &data) {
    if (!ggml_backend_buffer_is_host(tensor.buffer)) return; // its addresses are none
    auto at = reinterpret_cast<uintptr_t>(tensor.data) + offset;
    auto other = reinterpret_cast<uintptr_t>(data.data);
    if (at < other + data.size && other < at + size) refuse("%" PRIu64 " bytes onto themselves", size);
}

// Whether it went through this processor's caches.
bool read_for_guest(const ggml_tensor &tensor, uint8_t *to, uint64_t offset, size_t size) {
    const bool by_this_one = ggml_backend_buffer_is_host(tensor.buffer);
    if (by_this_one && read_from_memory(size)) {
        copy_past_caches(to, static_cast<const uint8_t *>(tensor.data) + offset, size);
        return false;
    }
    if (size != 0) ggml_backend_tensor_get(&tensor, to, offset, size);
    return by_this_one;
}

} // namespace

BufferGetBaseReply Session::on_buffer_get_base(const BufferGetBaseRequest &request) { return {buffer(request.buffer).told_base}; }

template <typename Request> void Session::set_tensor(const Request &request) {
    ggml_tensor tensor = placed(request.tensor, buffer(request.buffer));
    check_range(tensor, request.offset, request.size);
    SharedRange data = shared(request.resource, request.size);
    check_apart(tensor, request.offset, request.size, data);
    if (ggml_nbytes(&tensor) >= beyond_caches && ggml_backend_buffer_is_host(tensor.buffer)) {
        copy_past_caches(static_cast<uint8_t *>(tensor.data) + request.offset, data.data, request.size);
    } else if (request.size != 0) {
        ggml_backend_tensor_set(&tensor, data.data, request.offset, request.size);
    }
    // The guest's next data comes there. It takes as long as the copy: of much that is awaited as a whole most has left the caches by itself.
    if (request.size <= own_cache || request.size < ggml_nbytes(&tensor)) leave_caches(data.data, request.size);
}

template <typename Request> void Session::get_tensor(const Request &request) {
    ggml_tensor tensor = placed(request.tensor, buffer(request.buffer));
    check_range(tensor, request.offset, request.size);
    SharedRange data = shared(request.resource, request.size);
    check_apart(tensor, request.offset, request.size, data);
    read_for_guest(tensor, data.data, request.offset, request.size);
#if defined(APIR_PLANT_WRONG_BYTE)
    static int gets = 0;
    if (++gets % 1000 == 0 && request.size != 0) data.data[0] ^= 1;
#endif
}

template <typename Request> PipeWork Session::pipe_work(const Request &request, const ggml_tensor &tensor, PipeEnd::Role role) {
    if (!may_wait()) refuse("a pipe, behind a component that does not look after calls that wait for the guest");
    check_range(tensor, request.offset, request.size);
    const PipeArea area{request.area, request.room};
    if (!area.valid() || request.size > pipe_largest)
        refuse("a pipe of %" PRIu32 " bytes at %" PRIu32 " for %" PRIu64, area.room, area.begin, request.size);
    SharedRange resource = shared(request.resource, area.bytes());
    check_apart(tensor, request.offset, request.size, resource);
    return {PipeEnd(resource.data, area, request.size, role), {*library_.beats(), *ending_, pipe_patience_}};
}

PipeSetTensorReply Session::on_pipe_set_tensor(const PipeSetTensorRequest &request) {
    ggml_tensor tensor = placed(request.tensor, buffer(request.buffer));
    const bool past_caches = ggml_nbytes(&tensor) >= beyond_caches && ggml_backend_buffer_is_host(tensor.buffer);
    pipe_work(request, tensor, PipeEnd::Role::empties).run(pieces_of(tensor, {request.area, request.room}), [&](uint8_t *place, size_t done, size_t size) {
        const uint64_t offset = request.offset + done;
        if (past_caches) copy_past_caches(static_cast<uint8_t *>(tensor.data) + offset, place, size);
        else ggml_backend_tensor_set(&tensor, place, offset, size);
        leave_caches(place, size);
    });
    return {};
}

PipeGetTensorReply Session::on_pipe_get_tensor(const PipeGetTensorRequest &request) {
    ggml_tensor tensor = placed(request.tensor, buffer(request.buffer));
    bool cached = false;
    auto carry = [&](uint8_t *place, size_t done, size_t size) { cached = read_for_guest(tensor, place, request.offset + done, size); };
    auto told = [&](const uint8_t *place, size_t size) {
        if (cached) demote(place, size);
    };
    pipe_work(request, tensor, PipeEnd::Role::fills).run(pieces_of(tensor, {request.area, request.room}), carry, told);
    return {};
}

template <typename Request> bool Session::copy_tensor(const Request &request) {
    ggml_tensor destination = placed(request.destination, buffer(request.buffer));
    const Buffer *from = buffers_.find(request.source.buffer);
    if (from == nullptr) return false;
    ggml_tensor source = placed(request.source, *from);
    if (!same_layout(source, destination)) return false;
    if (source.data == destination.data && share_addresses(source, destination)) return true;
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
    kept_graphs_.on_buffer_freed(request.buffer); // takes memory: what fails here may be asked for again
    graphs_.distrust();
    allocated_[ggml_backend_buffer_get_type(freed.ggml.get())] -= freed.allocated;
#if defined(APIR_PLANT_LEAK)
    (void)buffers_.find(request.buffer)->ggml.release();
#endif
    buffers_.remove(request.buffer);
    return {};
}

} // namespace apir::host
