#include "meant_call.hpp"

#include <apir_gen.hpp>

namespace apir::virgl {
namespace {

enum class Way { out, in };

// The data resource of a call that has one.
template <typename Request> void find_data(Reader &reader, Way way, MeantCall &meant) {
    Request request;
    if (!read(reader, request)) return;
    meant.resource = request.resource;
    (way == Way::out ? meant.bytes_out : meant.bytes_in) = request.size;
}

// What comes before the last call only goes along with it.
Reader last_of_batch(Reader reader, MeantCall &meant) {
    BatchRequest batch;
    Reader last(nullptr, 0);
    if (!read(reader, batch)) return last;
    for (uint32_t i = 0; i < batch.count; ++i) {
        BatchedCall item;
        const uint8_t *bytes = read(reader, item) ? reader.bytes(item.size) : nullptr;
        if (bytes == nullptr) return last;
        meant.number = item.call;
        last = Reader(bytes, item.size);
    }
    return last;
}

} // namespace

MeantCall meant_call(uint32_t call, const uint8_t *request, size_t size) {
    Reader reader(request, size);
    MeantCall meant{call};
    if (call == static_cast<uint32_t>(Call::on_device)) {
        OnDeviceRequest address;
        if (!read(reader, address)) return meant;
        meant.number = address.call;
    }
    if (call == static_cast<uint32_t>(Call::batch)) reader = last_of_batch(reader, meant);
    switch (static_cast<Call>(meant.number)) {
    case Call::buffer_set_tensor: find_data<BufferSetTensorRequest>(reader, Way::out, meant); break;
    case Call::wide_set_tensor: find_data<WideSetTensorRequest>(reader, Way::out, meant); break;
    case Call::buffer_get_tensor: find_data<BufferGetTensorRequest>(reader, Way::in, meant); break;
    case Call::wide_get_tensor: find_data<WideGetTensorRequest>(reader, Way::in, meant); break;
    case Call::pipe_set_tensor: find_data<PipeSetTensorRequest>(reader, Way::out, meant); break;
    case Call::pipe_get_tensor: find_data<PipeGetTensorRequest>(reader, Way::in, meant); break;
    case Call::backend_graph_compute: find_data<BackendGraphComputeRequest>(reader, Way::out, meant); break;
    case Call::wide_graph_compute: find_data<WideGraphComputeRequest>(reader, Way::out, meant); break;
    case Call::graph_keep: find_data<GraphKeepRequest>(reader, Way::out, meant); break;
    case Call::graph_patch: find_data<GraphPatchRequest>(reader, Way::out, meant); break;
    default: break;
    }
    return meant;
}

} // namespace apir::virgl
