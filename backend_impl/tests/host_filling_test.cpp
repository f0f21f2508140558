// A device that goes by ggml-cuda's name, and fills up the last row of blocks as that one does: no message of a guest's makes it leave a buffer.
#include <ggml.h>

#include <algorithm>

#include "host_loopback.hpp"

using namespace apir;
using namespace apir::test;

namespace {

constexpr uint32_t ok = 0;
constexpr uint32_t failed = 1;
constexpr uint64_t size = 4096;
constexpr uint32_t columns = 64; // of the 512 that a row is filled up to
constexpr uint64_t block = 18; // of 32 numbers
constexpr uint64_t bytes = 2 * (columns / 32) * block, filled = bytes + (512 - columns) / 32 * block;

struct Host {
    Host() : loopback(1, {{"ggml.library.path", TWO_DEVICES}, {"ggml.library.reg", "filling_init"}, {"ggml.threads", "1"}}) {
        expect_equal(loopback.initialize(), static_cast<uint32_t>(InitCode::success), "initialize");
        buffer = new_buffer(loopback, size);
    }
    uint32_t compute(const Graph &graph) {
        std::vector<uint8_t> message = Loopback::encoded(graph);
        std::copy(message.begin(), message.end(), loopback.resource(2).data());
        return loopback.code(Call::backend_graph_compute, BackendGraphComputeRequest{2, message.size()});
    }
    // Two rows of blocks, of which the graph takes one.
    Graph rows(uint64_t at, uint64_t apart = block) const {
        TensorRecord blocks = f32_tensor(1, buffer, at, columns, 2), indices = f32_tensor(2, buffer, 1024, 1), result = f32_tensor(3, buffer, 2048, columns);
        blocks.type = GGML_TYPE_Q4_0;
        blocks.nb[0] = static_cast<uint32_t>(apart);
        for (int axis : {1, 2, 3}) blocks.nb[axis] = static_cast<uint32_t>(axis == 1 ? columns / 32 * block : bytes);
        indices.type = GGML_TYPE_I32;
        result.op = GGML_OP_GET_ROWS;
        result.src[0] = 1, result.src[1] = 2;
        result.flags = static_cast<int32_t>(tensor_flag_compute);
        Graph graph;
        graph.tensors = {blocks, indices, result};
        graph.nodes = {3};
        return graph;
    }

    Loopback loopback;
    uint64_t buffer = 0;
};

void rows_are_filled_up_within_their_buffer() {
    Host host;
    expect_equal(host.compute(host.rows(0)), ok, "rows of blocks at the beginning");
    expect_equal(host.compute(host.rows(size - filled)), ok, "at the end, with room for what fills them up");
    expect_equal(host.compute(host.rows(size - filled + 2)), failed, "with two bytes less");
    expect_equal(host.compute(host.rows(size - bytes)), failed, "with none");
    // What looks into another tensor has the room of that one.
    Graph view = host.rows(size - filled);
    TensorRecord last = view.tensors[0];
    last.id = 4;
    last.data += bytes - block;
    last.ne[0] = view.tensors[2].ne[0] = 32, last.ne[1] = 1;
    for (int axis : {1, 2, 3}) view.tensors[2].nb[axis] = 4 * 32;
    last.op = GGML_OP_VIEW;
    last.src[0] = last.view_src = 1;
    last.view_offs = bytes - block;
    view.tensors.push_back(last);
    view.tensors[2].src[0] = 4;
    view.nodes = {4, 3};
    expect_equal(host.compute(view), ok, "the last block of them");
    view.tensors[0].type = GGML_TYPE_I8; // as many bytes
    view.tensors[0].ne[0] = bytes / 2;
    for (int axis : {0, 1, 2, 3}) view.tensors[0].nb[axis] = static_cast<uint32_t>(axis == 0 ? 1 : axis == 1 ? bytes / 2 : bytes);
    expect_equal(host.compute(view), failed, "blocks in what has no room for theirs");
}

void blocks_lie_side_by_side() {
    Host host;
    expect_equal(host.compute(host.rows(0, 2 * block)), failed, "blocks that lie apart");
    const uint64_t type = device_buffer_type(host.loopback);
    for (uint64_t apart : {block, 2 * block}) {
        WideTensorRecord tensor{};
        tensor.id = 1;
        tensor.type = GGML_TYPE_Q4_0;
        tensor.ne[0] = columns, tensor.ne[1] = 2, tensor.ne[2] = tensor.ne[3] = 1;
        tensor.nb[0] = apart, tensor.nb[1] = columns / 32 * block, tensor.nb[2] = tensor.nb[3] = bytes;
        const uint32_t expected = apart == block ? ok : failed;
        expect_equal(host.loopback.code(Call::wide_get_alloc_size, WideGetAllocSizeRequest{type, {tensor}}), expected, "the size of blocks");
        if (expected != ok) continue;
        const auto told = host.loopback.call<WideGetAllocSizeReply>(Call::wide_get_alloc_size, WideGetAllocSizeRequest{type, {tensor}});
        expect_equal(told.size, filled, "their size");
    }
}

void numbers_lie_at_their_places() {
    Host host;
    for (uint64_t at : {0, 4, 2}) {
        TensorRecord source = f32_tensor(1, host.buffer, at, 4), result = f32_tensor(2, host.buffer, 64, 4);
        result.op = GGML_OP_SQR;
        result.src[0] = 1;
        result.flags = static_cast<int32_t>(tensor_flag_compute);
        Graph graph;
        graph.tensors = {source, result};
        graph.nodes = {2};
        expect_equal(host.compute(graph), at % 4 == 0 ? ok : failed, "numbers at " + std::to_string(at));
    }
}

} // namespace

int main() {
    rows_are_filled_up_within_their_buffer();
    blocks_lie_side_by_side();
    numbers_lie_at_their_places();
    return apir::test::failures == 0 ? 0 : 1;
}
