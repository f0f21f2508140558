// Target: the schema's codec. Input: a number, then bytes. They are read as every kind of message and record; what can be read is
// written, read again and written again: both times the same bytes.
#include <cstdlib>
#include <vector>

#include <apir_gen.hpp>

#include "target.hpp"

using namespace apir;

namespace {

constexpr size_t room = size_t{1} << 19;

template <typename Message> void try_reading(const uint8_t *data, size_t size) {
    Message message;
    Reader reader(data, size);
    if (!read(reader, message)) return;
    static std::vector<uint8_t> first(room), second(room);
    Writer writer(first.data(), first.size());
    write(writer, message);
    if (writer.failed()) return;
    Message again;
    Reader once_more(first.data(), writer.size());
    if (!read(once_more, again) || once_more.offset() != writer.size()) std::abort();
    Writer rewriter(second.data(), second.size());
    write(rewriter, again);
    if (rewriter.size() != writer.size() || std::memcmp(first.data(), second.data(), writer.size()) != 0) std::abort();
}

template <typename... Messages> void try_all(size_t chosen, const uint8_t *data, size_t size) {
    size_t at = 0;
    ((at++ == chosen % sizeof...(Messages) ? try_reading<Messages>(data, size) : void()), ...);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 4) return 0;
    try_all<CommandHeader, Version, Capset, TensorRecord, WideTensorRecord, RawTensor, OpRecord, Graph, WideGraph, GraphChanges, WideGraphChanges,
            DeviceGetNameReply, DeviceGetMemoryReply, DeviceSupportsOpRequest, DeviceGetPropsReply, DeviceBufferFromPtrRequest,
            DeviceBufferFromPtrReply, BufferTypeGetNameReply, BufferTypeAllocBufferRequest, BufferTypeGetAllocSizeRequest, BufferSetTensorRequest,
            BufferGetTensorRequest, BufferCpyTensorRequest, BufferClearRequest, BackendGraphComputeRequest, BackendGraphComputeReply, NegotiateRequest,
            NegotiateReply, OnDeviceRequest, WideSupportsOpRequest, WideGetAllocSizeRequest, WideSetTensorRequest, WideCpyTensorRequest,
            RingCreateRequest, GraphKeepRequest, GraphKeepReply, GraphRunRequest, GraphRunReply, GraphPatchRequest, GraphPatchReply>(
        data[0] | data[1] << 8, data + 4, size - 4);
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned int seed) {
    return apir::fuzz::mutate_plainly(data, size, most, seed);
}
