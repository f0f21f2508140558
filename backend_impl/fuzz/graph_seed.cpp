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

// The chosen one at the buffer's beginning or its end, and the others in between; as above.
uint64_t lay_out_around(std::vector<WideTensorRecord> &tensors, size_t chosen, bool at_end) {
    uint64_t size = shape_of(tensors[chosen]).bytes();
    uint64_t room = size + alignment - 1 - (size + alignment - 1) % alignment;
    if (size > HostWorld::memory_bytes || room > HostWorld::memory_bytes) return 0;
    uint64_t least = at_end ? 0 : room;
    uint64_t end = HostWorld::memory_bytes - (at_end ? room : 0);
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (i == chosen) continue;
        uint64_t other = shape_of(tensors[i]).bytes();
        if (other > end - least) return 0;
        end -= other;
        end -= end % alignment;
        if (end < least) return 0;
        tensors[i].data = end;
    }
    tensors[chosen].data = at_end ? HostWorld::memory_bytes - size : 0;
    return at_end ? HostWorld::memory_bytes - end : HostWorld::memory_bytes;
}

void pack(SeedTensor &tensor) {
    auto type = static_cast<ggml_type>(tensor.type);
    tensor.nb[0] = ggml_type_size(type);
    uint64_t stride = ggml_row_size(type, tensor.ne[0]);
    for (int i = 1; i < 4; ++i) {
        tensor.nb[i] = stride;
        stride *= static_cast<uint64_t>(tensor.ne[i]);
    }
}

// The same two of all tensors: most ops ask the same of their shapes then.
void swap_dimensions(OpSeed &seed, Random &random) {
    size_t kept = 1 + random.below(3);
    size_t first = kept == 1 ? 2 : 1, second = kept == 3 ? 2 : 3;
    auto swapped = [&](SeedTensor &tensor) {
        std::swap(tensor.ne[first], tensor.ne[second]);
        pack(tensor);
    };
    swapped(seed.result);
    for (auto &source : seed.sources)
        if (source) swapped(*source);
}

void change_strides(SeedTensor &tensor, Random &random) {
    uint64_t number = ggml_type_size(static_cast<ggml_type>(tensor.type));
    for (int i = 1; i < 4; ++i) {
        uint64_t &stride = tensor.nb[i];
        if (tensor.ne[i] == 1) {
            const uint64_t free[] = {stride, uint64_t{1} << 30, 0, number, stride + stride / 2 / number * number};
            stride = free[random.below(std::size(free))];
            continue;
        }
        const uint64_t others[] = {stride, stride, stride, 0, number, stride * 2, (stride + 20000) / number * number};
        stride = others[random.below(std::size(others))];
    }
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

// The result and behind it its sources.
WideGraph graph_of(const OpSeed &seed, uint64_t buffer) {
    WideGraph graph;
    graph.tensors.push_back(record_of(seed.result, 1, buffer));
    std::memcpy(graph.tensors[0].op_params, seed.parameters, sizeof seed.parameters);
    for (size_t i = 0; i < seed.sources.size(); ++i) {
        if (!seed.sources[i]) continue;
        graph.tensors[0].src[i] = i + 2;
        graph.tensors.push_back(record_of(*seed.sources[i], i + 2, buffer));
    }
    // ggml_cast makes the copy its own second source.
    if (seed.op == GGML_OP_CPY && graph.tensors[0].src[1] == 0) graph.tensors[0].src[1] = 1;
    return graph;
}

void put_contents(SeedGraph &made, Random &random, bool wild) {
    uint64_t start = HostWorld::memory_bytes - made.memory.size();
    if (made.memory.empty()) return;
    for (const WideTensorRecord &each : made.graph.tensors) put_content(made.memory.data() + (each.data - start), shape_of(each), random, wild);
}

} // namespace

SeedGraph seed_graph(const OpSeed &seed, uint64_t buffer, Random &random, bool wild) {
    SeedGraph made{graph_of(seed, buffer), {}};
    WideGraph &graph = made.graph;
    size_t count = graph.tensors.size();
    for (size_t i = 1; i < count; ++i)
        if (shape_of(graph.tensors[i]).is_index() && random.one_in(4)) compute_indices(graph, i);
    make_node(graph, 0, static_cast<ggml_op>(seed.op));
    made.memory.resize(lay_out(graph.tensors, random));
    put_contents(made, random, wild);
    return made;
}

SeedGraph strided_graph(const OpSeed &good, uint64_t buffer, Random &random) {
    OpSeed seed = good;
    if (random.one_in(2)) swap_dimensions(seed, random);
    std::vector<SeedTensor *> tensors{&seed.result};
    for (auto &source : seed.sources)
        if (source) tensors.push_back(&*source);
    size_t chosen = random.one_in(2) ? 0 : random.below(tensors.size());
    change_strides(*tensors[chosen], random);
    SeedGraph made{graph_of(seed, buffer), {}};
    make_node(made.graph, 0, static_cast<ggml_op>(seed.op));
    made.memory.resize(lay_out_around(made.graph.tensors, chosen, !random.one_in(4)));
    put_contents(made, random, false);
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
