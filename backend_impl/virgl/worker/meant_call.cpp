#include "meant_call.hpp"

#include <apir_gen.hpp>

namespace apir::virgl {
namespace {

enum class Way { out, in };

// The data resource of a call that has one.
template <typename Request> MeantData found_data(Reader &reader, Way way) {
    Request request;
    if (!read(reader, request)) return {};
    MeantData data;
    data.resource = request.resource;
    (way == Way::out ? data.bytes_out : data.bytes_in) = request.size;
    return data;
}

MeantData data_of(uint32_t call, Reader reader) {
    switch (static_cast<Call>(call)) {
    case Call::buffer_set_tensor: return found_data<BufferSetTensorRequest>(reader, Way::out);
    case Call::wide_set_tensor: return found_data<WideSetTensorRequest>(reader, Way::out);
    case Call::buffer_get_tensor: return found_data<BufferGetTensorRequest>(reader, Way::in);
    case Call::wide_get_tensor: return found_data<WideGetTensorRequest>(reader, Way::in);
    case Call::pipe_set_tensor: return found_data<PipeSetTensorRequest>(reader, Way::out);
    case Call::pipe_get_tensor: return found_data<PipeGetTensorRequest>(reader, Way::in);
    case Call::backend_graph_compute: return found_data<BackendGraphComputeRequest>(reader, Way::out);
    case Call::wide_graph_compute: return found_data<WideGraphComputeRequest>(reader, Way::out);
    case Call::graph_keep: return found_data<GraphKeepRequest>(reader, Way::out);
    case Call::graph_patch: return found_data<GraphPatchRequest>(reader, Way::out);
    default: return {};
    }
}

void mean(MeantCall &meant, uint32_t call, Reader reader) {
    meant.number = call;
    static_cast<MeantData &>(meant) = data_of(call, reader);
}

// What comes before the last call only goes along with it.
void mean_batch(MeantCall &meant, Reader reader) {
    BatchRequest batch;
    if (!read(reader, batch)) return;
    for (uint32_t i = 0; i < batch.count; ++i) {
        BatchedCall item;
        const uint8_t *bytes = read(reader, item) ? reader.bytes(item.size) : nullptr;
        if (bytes == nullptr) return;
        if (i != 0) meant.along.push_back(meant);
        mean(meant, item.call, Reader(bytes, item.size));
    }
}

} // namespace

uint64_t MeantCall::all_bytes_out() const {
    uint64_t sum = bytes_out;
    for (const MeantData &each : along) sum += each.bytes_out;
    return sum;
}

MeantCall meant_call(uint32_t call, const uint8_t *request, size_t size) {
    Reader reader(request, size);
    MeantCall meant;
    meant.number = call;
    if (call == static_cast<uint32_t>(Call::batch)) {
        mean_batch(meant, reader);
        return meant;
    }
    OnDeviceRequest address{0, call};
    if (call == static_cast<uint32_t>(Call::on_device) && !read(reader, address)) return meant;
    mean(meant, address.call, reader);
    return meant;
}

} // namespace apir::virgl
