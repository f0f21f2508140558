#include "graph_seed.hpp"

#include <algorithm>
#include <cstring>

namespace apir::fuzz {
namespace {

constexpr uint64_t alignment = 64;

WideTensorRecord record_of(const SeedTensor &tensor, uint64_t id, uint64_t buffer) {
    WideTensorRecord record;
    record.id = id;
    record.type = tensor.type;
    record.buffer = buffer;
    std::memcpy(record.ne, tensor.ne, sizeof record.ne);
    std::memcpy(record.nb, tensor.nb, sizeof record.nb);
    return record;
}

SeedTensor shape_of(const WideTensorRecord &record) {
    SeedTensor shape;
    shape.type = record.type;
    std::memcpy(shape.ne, record.ne, sizeof shape.ne);
    std::memcpy(shape.nb, record.nb, sizeof shape.nb);
    return shape;
}

// Places all tensors against the end of the buffer; returns the bytes they take.
uint64_t lay_out(std::vector<WideTensorRecord> &tensors, Random &random) {
    std::vector<size_t> order(tensors.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    uint64_t end = HostWorld::memory_bytes;
    for (size_t index : order) {
        uint64_t size = shape_of(tensors[index]).bytes();
        if (size > end) return 0;
        end -= size;
        // The first one ends where the buffer does, whatever its own beginning is then.
        if (index != order.front()) end -= end % alignment;
        tensors[index].data = end;
    }
    return HostWorld::memory_bytes - end;
}

template <typename Number> void put_numbers(uint8_t *at, uint64_t bytes, Random &random, bool wild) {
    for (uint64_t i = 0; i + sizeof(Number) <= bytes; i += sizeof(Number)) {
        auto value = static_cast<Number>(wild && random.one_in(3) ? random.edge() : random.below(2));
        std::memcpy(at + i, &value, sizeof value);
    }
}

void put_floats(uint8_t *at, uint64_t bytes, Random &random, bool wild) {
    for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
        float value = static_cast<float>(random.below(2001)) / 1000 - 1;
        auto bits = static_cast<uint32_t>(random.one_in(2) ? 0x7f800000u : random.next());
        if (wild && random.one_in(8)) std::memcpy(&value, &bits, sizeof value);
        std::memcpy(at + i, &value, sizeof value);
    }
}

// Any bits are numbers of the other types; zeros are some that nothing goes wrong with.
void put_bits(uint8_t *at, uint64_t bytes, Random &random, bool wild) {
    for (uint64_t i = 0; i < bytes; ++i) at[i] = wild ? static_cast<uint8_t>(random.next()) : uint8_t{0};
}

void put_content(uint8_t *at, const SeedTensor &shape, Random &random, bool wild) {
    switch (shape.type) {
    case GGML_TYPE_I32: return put_numbers<int32_t>(at, shape.bytes(), random, wild);
    case GGML_TYPE_I64: return put_numbers<int64_t>(at, shape.bytes(), random, wild);
    case GGML_TYPE_F32: return put_floats(at, shape.bytes(), random, wild);
    default: return put_bits(at, shape.bytes(), random, wild);
    }
}

void make_node(WideGraph &graph, size_t index, ggml_op op) {
    graph.tensors[index].op = op;
    graph.tensors[index].flags = static_cast<int32_t>(tensor_flag_compute);
    graph.nodes.push_back(graph.tensors[index].id);
}

// Indices are then what a node of this graph leaves: a copy of a leaf.
void compute_indices(WideGraph &graph, size_t index) {
    WideTensorRecord leaf = graph.tensors[index];
    leaf.id = 100 + index;
    graph.tensors.push_back(leaf);
    graph.tensors[index].src[0] = leaf.id;
    graph.tensors[index].src[1] = graph.tensors[index].id;
    make_node(graph, index, GGML_OP_CPY);
}

} // namespace

SeedGraph seed_graph(const OpSeed &seed, uint64_t buffer, Random &random, bool wild) {
    SeedGraph made;
    WideGraph &graph = made.graph;
    graph.tensors.push_back(record_of(seed.result, 1, buffer));
    std::memcpy(graph.tensors[0].op_params, seed.parameters, sizeof seed.parameters);
    for (size_t i = 0; i < seed.sources.size(); ++i) {
        if (!seed.sources[i]) continue;
        graph.tensors[0].src[i] = i + 2;
        graph.tensors.push_back(record_of(*seed.sources[i], i + 2, buffer));
    }
    // ggml_cast makes the copy its own second source.
    if (seed.op == GGML_OP_CPY && graph.tensors[0].src[1] == 0) graph.tensors[0].src[1] = 1;
    size_t count = graph.tensors.size();
    for (size_t i = 1; i < count; ++i)
        if (shape_of(graph.tensors[i]).is_index() && random.one_in(4)) compute_indices(graph, i);
    make_node(graph, 0, static_cast<ggml_op>(seed.op));
    made.memory.resize(lay_out(graph.tensors, random));
    uint64_t start = HostWorld::memory_bytes - made.memory.size();
    if (!made.memory.empty())
        for (const WideTensorRecord &each : graph.tensors)
            put_content(made.memory.data() + (each.data - start), shape_of(each), random, wild);
    return made;
}

SeedGraph joined(const SeedGraph &first, const SeedGraph &second) {
    constexpr uint64_t apart = 1000; // of the ids
    SeedGraph both = first.memory.size() > second.memory.size() ? first : second;
    const SeedGraph &other = first.memory.size() > second.memory.size() ? second : first;
    for (uint64_t id : other.graph.nodes) both.graph.nodes.push_back(id + apart);
    for (WideTensorRecord tensor : other.graph.tensors) {
        tensor.id += apart;
        for (uint64_t &source : tensor.src) source += source == 0 ? 0 : apart;
        both.graph.tensors.push_back(tensor);
    }
    return both;
}

} // namespace apir::fuzz
