// Batches of the host library, tensor data in commands, and a device's facts in one call; most of it hostile.
#include <cstring>

#include "host_loopback.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;
using Bytes = std::vector<uint8_t>;

void append(Bytes &bytes, const Bytes &more) { bytes.insert(bytes.end(), more.begin(), more.end()); }

Bytes item(Call call, const Bytes &request, uint32_t device = 0) {
    Bytes bytes = Loopback::encoded(BatchedCall{device, static_cast<uint32_t>(call), static_cast<uint32_t>(request.size())});
    append(bytes, request);
    bytes.resize(padded(bytes.size()));
    return bytes;
}

Bytes batch_of(const std::vector<Bytes> &items) {
    Bytes bytes = Loopback::encoded(BatchRequest{static_cast<uint32_t>(items.size())});
    for (const Bytes &each : items) append(bytes, each);
    return bytes;
}

uint32_t sent(Loopback &host, const Bytes &request, Bytes *reply = nullptr) {
    return host.raw(static_cast<uint32_t>(Call::batch), request, reply);
}

Bytes inline_set(uint64_t buffer, uint64_t at, const Bytes &data, uint64_t offset = 0) {
    Bytes bytes = Loopback::encoded(SetTensorInlineRequest{buffer, f32_tensor(1, buffer, at, 8), offset, data.size()});
    append(bytes, data);
    bytes.resize(padded(bytes.size()));
    return bytes;
}

Bytes held(Loopback &host, uint64_t buffer, uint64_t at, uint64_t size) {
    BufferGetTensorRequest get{buffer, f32_tensor(1, buffer, at, 8), Loopback::data_resource, 0, size};
    expect_equal(host.code(Call::buffer_get_tensor, get), ok, "get");
    const uint8_t *data = host.resource(Loopback::data_resource).data();
    return {data, data + size};
}

void several_calls_in_one() {
    auto host = cpu_loopback();
    uint64_t buffer = new_buffer(*host, 4096);
    Bytes data{1, 2, 3, 4, 5, 6, 7};
    Bytes reply;
    Bytes memory = item(Call::device_get_memory, {});
    expect_equal(sent(*host, batch_of({item(Call::buffer_clear, Loopback::encoded(BufferClearRequest{buffer, 9})),
                                       item(Call::set_tensor_inline, inline_set(buffer, 64, data)),
                                       item(Call::set_tensor_inline, inline_set(buffer, 64, {8}, 31)), memory}), &reply), ok, "a batch");
    expect_equal(reply.size(), size_t{16}, "the reply is the last one's");
    Bytes expected(32, 9);
    std::copy(data.begin(), data.end(), expected.begin());
    expected[31] = 8;
    expect(held(*host, buffer, 64, 32) == expected, "all were carried out");
    expect_equal(sent(*host, batch_of({item(Call::device_summary, {}), memory})), failed, "a long reply that is dropped");
}

void up_to_the_first_that_fails() {
    auto host = cpu_loopback();
    uint64_t buffer = new_buffer(*host, 4096);
    auto clear = [&](uint64_t which, uint8_t value) { return item(Call::buffer_clear, Loopback::encoded(BufferClearRequest{which, value})); };
    expect_equal(sent(*host, batch_of({clear(buffer, 1), clear(buffer + 1, 2), clear(buffer, 3)})), failed, "one that fails");
    expect(held(*host, buffer, 0, 4) == Bytes(4, 1), "the ones behind it are left out");
    expect_equal(sent(*host, batch_of({clear(buffer, 4), item(static_cast<Call>(9999), {}), clear(buffer, 5)})), 6u, "an unknown one");
    expect(held(*host, buffer, 0, 4) == Bytes(4, 4), "also then");
    for (Call call : {Call::batch, Call::on_device, Call::negotiate})
        expect_equal(sent(*host, batch_of({item(call, Bytes(64, 0))})), failed, "nothing nests");
    for (uint32_t device : {1u, 17u, UINT32_MAX})
        expect_equal(sent(*host, batch_of({item(Call::device_get_memory, {}, device)})), failed, "a device that is none");
}

void malformed() {
    auto host = cpu_loopback();
    uint64_t buffer = new_buffer(*host, 4096);
    Bytes whole = batch_of({item(Call::set_tensor_inline, inline_set(buffer, 0, Bytes(32, 5))), item(Call::device_get_memory, {})});
    for (size_t cut = 0; cut < whole.size(); cut += 4) expect_equal(sent(*host, Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(cut))), failed, "cut off");
    expect_equal(sent(*host, whole), ok, "whole");
    auto with = [&](size_t at, uint32_t value) {
        Bytes changed = whole;
        std::memcpy(changed.data() + at, &value, sizeof value);
        return sent(*host, changed);
    };
    for (uint32_t count : {0u, 3u, 1000u, UINT32_MAX}) expect_equal(with(0, count), failed, "a count that is wrong");
    for (uint32_t size : {0u, 4u, 300u, 5000u, 0x7fffffffu, 0xfffffffcu, UINT32_MAX}) expect_equal(with(12, size), failed, "a size that is wrong");
    // The number of data bytes stands 8 before them; the sub-request ends where the batch says.
    size_t data_size = 16 + 8 + TensorRecord::wire_size + 8;
    for (uint32_t size : {33u, 37u, 64u, UINT32_MAX}) expect_equal(with(data_size, size), failed, "data that is not all there");
    expect_equal(sent(*host, batch_of({item(Call::set_tensor_inline, inline_set(buffer, 4090, Bytes(4, 1)))})), failed, "behind the buffer");
    expect_equal(sent(*host, batch_of({item(Call::set_tensor_inline, inline_set(buffer, 0, Bytes(4, 1), 30))})), failed, "behind the tensor");
    expect_equal(sent(*host, batch_of({item(Call::set_tensor_inline, inline_set(buffer, 0, Bytes(4, 1), UINT64_MAX - 2))})), failed, "an offset that overflows");
    // Two blocks, apart: ggml itself counts a row of them by the strides of its numbers, and that it is that leaves the buffer.
    SetTensorInlineRequest blocks{buffer, f32_tensor(1, buffer, 3000, 64), 1500, 4};
    blocks.tensor.type = 2; // q4_0
    blocks.tensor.nb[0] = 1000;
    Bytes apart = Loopback::encoded(blocks);
    append(apart, Bytes(4, 1));
    expect_equal(sent(*host, batch_of({item(Call::set_tensor_inline, apart)})), failed, "behind the buffer, by blocks");
    expect_equal(sent(*host, batch_of({item(Call::set_tensor_inline, inline_set(buffer + 7, 0, Bytes(4, 1)))})), failed, "no buffer");
}

void one_summary() {
    auto host = cpu_loopback();
    auto facts = host->call<DeviceSummaryReply>(Call::device_summary, DeviceSummaryRequest{});
    expect(facts.name == host->call<DeviceGetNameReply>(Call::device_get_name, DeviceGetNameRequest{}).name, "name");
    expect_equal(facts.type, host->call<DeviceGetTypeReply>(Call::device_get_type, DeviceGetTypeRequest{}).type, "type");
    expect_equal(facts.buft, device_buffer_type(*host), "buffer type");
    BufferTypeGetAlignmentRequest alignment{facts.buft};
    expect_equal(facts.alignment, host->call<BufferTypeGetAlignmentReply>(Call::buffer_type_get_alignment, alignment).alignment, "alignment");
    auto props = host->call<DeviceGetPropsReply>(Call::device_get_props, DeviceGetPropsRequest{});
    expect(facts.buffer_from_host_ptr == props.buffer_from_host_ptr && facts.mmap_support == props.mmap_support, "props");
    expect_equal(host->raw(static_cast<uint32_t>(Call::device_summary), {}, nullptr, 40), failed, "a reply page that is too small");
}

} // namespace

int main(int count, char **values) {
    return run_cases({{"several_calls_in_one", several_calls_in_one},
                      {"up_to_the_first_that_fails", up_to_the_first_that_fails},
                      {"malformed", malformed},
                      {"one_summary", one_summary}},
                     count > 1 ? values[1] : nullptr);
}
