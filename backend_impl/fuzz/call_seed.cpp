#include "call_seed.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "mutate.hpp"

namespace apir::fuzz {
namespace {

constexpr uint32_t number(Call call) { return static_cast<uint32_t>(call); }

template <typename Request> Bytes bytes_of(const Request &request, size_t room = 1 << 16) {
    Bytes bytes(room);
    Writer writer(bytes.data(), bytes.size());
    write(writer, request);
    bytes.resize(writer.size());
    return bytes;
}

// What does not fit into a narrow record is cut off: then it is another mutation.
TensorRecord narrowed(const WideTensorRecord &wide) {
    TensorRecord narrow;
    narrow.id = wide.id, narrow.type = wide.type, narrow.buffer = wide.buffer, narrow.op = wide.op, narrow.flags = wide.flags;
    narrow.view_src = wide.view_src, narrow.view_offs = wide.view_offs, narrow.data = wide.data;
    for (int i = 0; i < 4; ++i) {
        narrow.ne[i] = static_cast<uint32_t>(wide.ne[i]);
        narrow.nb[i] = static_cast<uint32_t>(wide.nb[i]);
    }
    std::memcpy(narrow.op_params, wide.op_params, sizeof narrow.op_params);
    std::memcpy(narrow.src, wide.src, sizeof narrow.src);
    std::memcpy(narrow.name, wide.name, sizeof narrow.name);
    return narrow;
}

RawTensor raw(const WideTensorRecord &wide) {
    RawTensor tensor;
    tensor.type = wide.type, tensor.op = wide.op, tensor.flags = wide.flags;
    tensor.view_src = wide.view_src, tensor.view_offs = wide.view_offs;
    std::memcpy(tensor.ne, wide.ne, sizeof tensor.ne);
    std::memcpy(tensor.nb, wide.nb, sizeof tensor.nb);
    std::memcpy(tensor.op_params, wide.op_params, sizeof tensor.op_params);
    std::memcpy(tensor.src, wide.src, sizeof tensor.src);
    return tensor;
}

WideTensorRecord with_id(const WideGraph &graph, uint64_t id) {
    for (const WideTensorRecord &tensor : graph.tensors)
        if (tensor.id == id) return tensor;
    return {};
}

OpRecord op_record(const WideGraph &graph) {
    OpRecord op;
    op.tensor = raw(graph.tensors[0]);
    op.view_src = raw(with_id(graph, graph.tensors[0].view_src));
    for (size_t i = 0; i < op.source_count(); ++i) op.src[i] = raw(with_id(graph, graph.tensors[0].src[i]));
    return op;
}

// A tensor of some bytes of a buffer, for the calls that name one.
WideTensorRecord some_tensor(const Handles &handles, Random &random) {
    WideTensorRecord tensor;
    tensor.id = 1;
    tensor.type = static_cast<uint32_t>(random.one_in(2) ? uint64_t{GGML_TYPE_F32} : random.below(GGML_TYPE_COUNT));
    tensor.buffer = random.one_in(8) ? any_handle(handles, random) : random.one_in(2) ? handles.home : handles.pool;
    uint64_t stride = tensor.type == GGML_TYPE_F32 ? 4 : 34;
    for (int i = 0; i < 4; ++i) {
        tensor.ne[i] = static_cast<int64_t>(i == 0 ? 32 : 1 + random.below(4));
        tensor.nb[i] = stride;
        stride *= static_cast<uint64_t>(tensor.ne[i]);
    }
    tensor.data = random.below(1 << 12) * 32;
    for (uint64_t i = random.below(3); i > 0; --i) mutate_tensor(tensor, handles, random);
    return tensor;
}

uint32_t some_resource(Random &random) {
    return random.one_in(8) ? static_cast<uint32_t>(random.edge()) : 1 + static_cast<uint32_t>(random.below(4));
}

// Of a tensor, in bytes: most lie within it.
uint64_t some_part(Random &random) { return random.one_in(6) ? random.edge() : random.below(64); }

uint64_t some_size(Random &random) { return random.one_in(3) ? random.edge() : random.below(8192); }

OpRecord some_op(const Handles &handles, Random &random) {
    OpRecord op;
    op.tensor = raw(some_tensor(handles, random));
    op.tensor.op = static_cast<uint32_t>(random.below(110));
    op.tensor.buffer = random.one_in(2) ? random.edge() : 0;
    op.tensor.view_src = random.one_in(3) ? random.edge() : 0;
    for (uint64_t i = 0; i < random.below(6); ++i) op.tensor.src[i] = random.edge() | 1, op.src[i] = raw(some_tensor(handles, random));
    return op;
}

std::vector<WideTensorRecord> some_op_tensors(const Handles &handles, Random &random) {
    std::vector<WideTensorRecord> tensors;
    for (uint64_t i = 0; i < 1 + random.below(5); ++i) tensors.push_back(some_tensor(handles, random)), tensors.back().id = i + 1;
    tensors[0].op = static_cast<uint32_t>(random.below(110));
    for (size_t i = 1; i < tensors.size(); ++i) tensors[0].src[i - 1] = i + 1;
    return tensors;
}

// Numbers of kept graphs count from 1 in every fresh world.
uint64_t some_graph(Random &random) {
    constexpr uint64_t first = (uint64_t{3} << 56) + 1;
    return random.one_in(8) ? random.edge() : first + random.below(6);
}

Bytes payload_of(Call call, const Handles &handles, Random &random);

void append(Bytes &bytes, const Bytes &more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    bytes.resize(padded(bytes.size()));
}

void append_item(Bytes &batch, uint32_t call, const Bytes &payload, Random &random) {
    auto size = static_cast<uint32_t>(random.one_in(16) ? random.near(payload.size()) : payload.size());
    append(batch, bytes_of(BatchedCall{static_cast<uint32_t>(random.one_in(16) ? random.edge() : 0), call, size}));
    append(batch, payload);
}

// Some calls that go along, mostly those that a guest leaves to; then the last one.
Bytes batched(uint32_t last, const Bytes &payload, const Handles &handles, Random &random) {
    constexpr Call left[] = {Call::set_tensor_inline, Call::buffer_clear, Call::buffer_free_buffer, Call::set_tensor_inline};
    auto count = static_cast<uint32_t>(1 + random.below(4));
    Bytes batch = bytes_of(BatchRequest{random.one_in(16) ? random.near(count) : count});
    for (uint32_t i = 1; i < count; ++i) {
        Call call = random.one_in(3) ? all_calls[random.below(all_calls.size())] : left[random.below(std::size(left))];
        append_item(batch, number(call), call == Call::batch ? Bytes{} : payload_of(call, handles, random), random);
    }
    append_item(batch, last, payload, random);
    return batch;
}

// As many bytes behind it as it says, or other than that.
Bytes inline_payload(uint64_t handle, const Handles &handles, Random &random) {
    constexpr uint64_t most = 2048;
    uint64_t size = some_part(random);
    Bytes bytes = bytes_of(SetTensorInlineRequest{handle, narrowed(some_tensor(handles, random)), some_part(random), size});
    bytes.resize(bytes.size() + padded(std::min(size, most)), static_cast<uint8_t>(random.next()));
    return bytes;
}

template <typename Request> Bytes piped(uint64_t handle, const WideTensorRecord &tensor, Random &random) {
    const auto area = random.one_in(8) ? static_cast<uint32_t>(random.edge()) : random.near(pipe_words_size);
    const auto room = static_cast<uint32_t>(random.one_in(8) ? random.edge() : 1 + random.below(4096));
    return bytes_of(Request{handle, tensor, some_resource(random), area, room, some_part(random), some_part(random)});
}

Bytes payload_of(Call call, const Handles &handles, Random &random) {
    uint64_t handle = random.one_in(4) ? any_handle(handles, random) : random.one_in(2) ? handles.home : handles.pool;
    uint64_t type = random.one_in(4) ? any_handle(handles, random) : handles.type;
    auto tensor = [&] { return some_tensor(handles, random); };
    switch (call) {
    case Call::device_supports_op: return bytes_of(DeviceSupportsOpRequest{some_op(handles, random)});
    case Call::device_buffer_from_ptr: return bytes_of(DeviceBufferFromPtrRequest{some_resource(random), some_size(random), some_size(random)});
    case Call::buffer_type_get_name: return bytes_of(BufferTypeGetNameRequest{type});
    case Call::buffer_type_get_alignment: return bytes_of(BufferTypeGetAlignmentRequest{type});
    case Call::buffer_type_get_max_size: return bytes_of(BufferTypeGetMaxSizeRequest{type});
    case Call::buffer_type_is_host: return bytes_of(BufferTypeIsHostRequest{type});
    case Call::buffer_type_alloc_buffer: return bytes_of(BufferTypeAllocBufferRequest{type, some_size(random)});
    case Call::alloc_with_base: return bytes_of(AllocWithBaseRequest{type, some_size(random)});
    case Call::buffer_type_get_alloc_size: return bytes_of(BufferTypeGetAllocSizeRequest{type, some_op(handles, random)});
    case Call::buffer_get_base: return bytes_of(BufferGetBaseRequest{handle});
    case Call::buffer_set_tensor:
        return bytes_of(BufferSetTensorRequest{handle, narrowed(tensor()), some_resource(random), some_part(random), some_part(random)});
    case Call::buffer_get_tensor:
        return bytes_of(BufferGetTensorRequest{handle, narrowed(tensor()), some_resource(random), some_part(random), some_part(random)});
    case Call::buffer_cpy_tensor: return bytes_of(BufferCpyTensorRequest{handle, narrowed(tensor()), narrowed(tensor())});
    case Call::buffer_clear: return bytes_of(BufferClearRequest{handle, static_cast<uint8_t>(random.next())});
    case Call::buffer_free_buffer: return bytes_of(BufferFreeBufferRequest{random.one_in(16) ? handle : handles.stale});
    case Call::backend_graph_compute: return bytes_of(BackendGraphComputeRequest{some_resource(random), some_size(random)});
    case Call::negotiate: return bytes_of(NegotiateRequest{static_cast<uint32_t>(random.below(3)), random.next(), random.next()});
    case Call::wide_supports_op: return bytes_of(WideSupportsOpRequest{some_op_tensors(handles, random)});
    case Call::wide_get_alloc_size: return bytes_of(WideGetAllocSizeRequest{type, some_op_tensors(handles, random)});
    case Call::wide_set_tensor:
        return bytes_of(WideSetTensorRequest{handle, tensor(), some_resource(random), some_part(random), some_part(random)});
    case Call::wide_get_tensor:
        return bytes_of(WideGetTensorRequest{handle, tensor(), some_resource(random), some_part(random), some_part(random)});
    case Call::pipe_set_tensor: return piped<PipeSetTensorRequest>(handle, tensor(), random);
    case Call::pipe_get_tensor: return piped<PipeGetTensorRequest>(handle, tensor(), random);
    case Call::wide_cpy_tensor: return bytes_of(WideCpyTensorRequest{handle, tensor(), tensor()});
    case Call::wide_graph_compute: return bytes_of(WideGraphComputeRequest{some_resource(random), some_size(random)});
    case Call::ring_create:
        return bytes_of(RingCreateRequest{some_resource(random), static_cast<uint32_t>(random.near(32u)), static_cast<uint32_t>(random.near(4160u))});
    case Call::graph_keep:
        return bytes_of(GraphKeepRequest{some_resource(random), some_size(random), random.one_in(2), {some_graph(random)}});
    case Call::graph_run: return bytes_of(GraphRunRequest{some_graph(random)});
    case Call::graph_patch: return bytes_of(GraphPatchRequest{some_graph(random), some_resource(random), some_size(random)});
    case Call::set_tensor_inline: return inline_payload(handle, handles, random);
    case Call::batch: {
        Call last = all_calls[random.below(all_calls.size())];
        return batched(number(last), last == Call::batch ? Bytes{} : payload_of(last, handles, random), handles, random);
    }
    // Those without a request; and calls that came later than this list get bytes of no meaning.
    default: break;
    }
    Bytes bytes(random.one_in(2) ? 0 : random.below(64));
    for (uint8_t &byte : bytes) byte = static_cast<uint8_t>(random.one_in(2) ? 0 : random.next());
    return bytes;
}

Message on_a_device(Message message, Random &random) {
    Bytes wrapped = bytes_of(OnDeviceRequest{static_cast<uint32_t>(random.one_in(8) ? random.edge() : 0), message.call});
    wrapped.insert(wrapped.end(), message.payload.begin(), message.payload.end());
    message.payload = std::move(wrapped);
    message.call = number(Call::on_device);
    return message;
}

} // namespace

WideGraph widened(const WideGraph &graph) { return graph; }

WideGraph widened(const Graph &graph) {
    WideGraph wide;
    wide.nodes = graph.nodes;
    for (const TensorRecord &narrow : graph.tensors) {
        WideTensorRecord tensor;
        tensor.id = narrow.id, tensor.type = narrow.type, tensor.buffer = narrow.buffer, tensor.op = narrow.op, tensor.flags = narrow.flags;
        tensor.view_src = narrow.view_src, tensor.view_offs = narrow.view_offs, tensor.data = narrow.data;
        std::copy(std::begin(narrow.ne), std::end(narrow.ne), tensor.ne);
        std::copy(std::begin(narrow.nb), std::end(narrow.nb), tensor.nb);
        std::memcpy(tensor.op_params, narrow.op_params, sizeof tensor.op_params);
        std::memcpy(tensor.src, narrow.src, sizeof tensor.src);
        wide.tensors.push_back(tensor);
    }
    return wide;
}

Bytes encoded_graph(const WideGraph &graph, uint32_t call) {
    size_t room = 8 + graph.nodes.size() * 8 + graph.tensors.size() * WideTensorRecord::wire_size;
    if (call == number(Call::wide_graph_compute)) return bytes_of(graph, room);
    Graph narrow;
    narrow.nodes = graph.nodes;
    for (const WideTensorRecord &tensor : graph.tensors) narrow.tensors.push_back(narrowed(tensor));
    return bytes_of(narrow, room);
}

Message with_graph_size(Message message) {
    message.payload = bytes_of(BackendGraphComputeRequest{HostWorld::data_resource, message.data.size()});
    return message;
}

// Some records take the place of those that a kept graph of the same op has.
template <typename Changes, typename Narrowed> Bytes changes_of(const WideGraph &graph, Random &random, Narrowed narrow) {
    Changes changes;
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
        if (random.one_in(2)) continue;
        changes.positions.push_back(static_cast<uint32_t>(random.one_in(16) ? random.edge() : i));
        changes.tensors.push_back(narrow(graph.tensors[i]));
    }
    return bytes_of(changes, 8 + changes.positions.size() * (4 + WideTensorRecord::wire_size));
}

// To be kept, run by its number, or changed.
Message kept_graph_message(const SeedGraph &graph, Random &random) {
    Message message;
    bool wide = random.one_in(2);
    switch (random.below(4)) {
    case 0: message.call = number(Call::graph_run), message.payload = bytes_of(GraphRunRequest{some_graph(random)}); break;
    case 1:
        message.call = number(Call::graph_patch);
        message.data = wide ? changes_of<WideGraphChanges>(graph.graph, random, [](const WideTensorRecord &each) { return each; })
                            : changes_of<GraphChanges>(graph.graph, random, narrowed);
        message.payload = bytes_of(GraphPatchRequest{some_graph(random), HostWorld::data_resource, message.data.size()});
        break;
    default:
        message.call = number(Call::graph_keep);
        message.data = encoded_graph(graph.graph, number(wide ? Call::wide_graph_compute : Call::backend_graph_compute));
        GraphKeepRequest keep{HostWorld::data_resource, message.data.size(), wide, {}};
        if (random.one_in(2)) keep.dropped = {some_graph(random), some_graph(random)};
        message.payload = bytes_of(keep);
    }
    message.memory = graph.memory;
    return message;
}

Message message_of(const SeedGraph &graph, const Handles &handles, Random &random) {
    Message message;
    uint64_t kind = random.below(12);
    if (kind == 0) {
        message.call = number(Call::device_supports_op);
        message.payload = bytes_of(DeviceSupportsOpRequest{op_record(graph.graph)});
    } else if (kind == 1) {
        message.call = number(Call::wide_get_alloc_size);
        message.payload = bytes_of(WideGetAllocSizeRequest{handles.type, graph.graph.tensors});
    } else if (kind == 2) {
        message = kept_graph_message(graph, random);
    } else {
        message.call = number(kind % 2 == 0 ? Call::backend_graph_compute : Call::wide_graph_compute);
        message.data = encoded_graph(graph.graph, message.call);
        message.memory = graph.memory;
        message = with_graph_size(std::move(message));
    }
    if (random.one_in(12)) {
        message.payload = batched(message.call, message.payload, handles, random);
        message.call = number(Call::batch);
    }
    return random.one_in(16) ? on_a_device(std::move(message), random) : message;
}

Message call_message(Random &random, const Handles &handles) {
    Message message;
    Call call = all_calls[random.below(all_calls.size())];
    if (call == Call::on_device) {
        message = call_message(random, handles);
        return on_a_device(std::move(message), random);
    }
    message.call = number(call);
    message.payload = payload_of(call, handles, random);
    if (random.one_in(4)) message.data.resize(random.below(512), static_cast<uint8_t>(random.next()));
    return message;
}

} // namespace apir::fuzz
