#include "mutate.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <ggml.h>

namespace apir::fuzz {
namespace {

void make_contiguous(WideTensorRecord &tensor) {
    uint64_t stride = tensor.type < GGML_TYPE_COUNT ? ggml_type_size(static_cast<ggml_type>(tensor.type)) : 4;
    int64_t block = tensor.type < GGML_TYPE_COUNT ? ggml_blck_size(static_cast<ggml_type>(tensor.type)) : 1;
    for (int i = 0; i < 4; ++i) {
        tensor.nb[i] = stride;
        stride *= static_cast<uint64_t>(i == 0 && block > 0 ? tensor.ne[0] / block : tensor.ne[i]);
    }
}

// With strides that go with it, which is what gets far; or without.
void mutate_shape(WideTensorRecord &tensor, Random &random) {
    size_t at = random.below(4);
    if (random.one_in(4)) std::swap(tensor.ne[at], tensor.ne[random.below(4)]);
    else tensor.ne[at] = random.near(tensor.ne[at]);
    if (random.one_in(6)) tensor.nb[random.below(4)] = 0;
    else if (!random.one_in(4)) make_contiguous(tensor);
}

// As many elements in rows of another length: what a kernel sees that goes by one tensor's rows in memory that is planned for another's.
void move_factor(WideTensorRecord &tensor, Random &random) {
    int64_t &from = tensor.ne[random.below(4)];
    int64_t &to = tensor.ne[random.below(4)];
    if (&from == &to) return;
    const int64_t factor = random.one_in(2) ? from : int64_t{1} << (1 + random.below(8));
    int64_t product = 0;
    if (factor < 2 || from % factor != 0 || __builtin_mul_overflow(to, factor, &product)) return;
    to = product;
    from /= factor;
    make_contiguous(tensor);
}

void mutate_type(WideTensorRecord &tensor, Random &random) {
    tensor.type = static_cast<uint32_t>(random.below(GGML_TYPE_COUNT + 2));
    if (!random.one_in(3)) make_contiguous(tensor);
}

void mutate_parameter(WideTensorRecord &tensor, Random &random) {
    int32_t &value = tensor.op_params[random.one_in(6) ? random.below(16) : random.below(8)];
    constexpr float special[] = {0.0f, -1.0f, 1e30f, -1e30f, 0.5f, __builtin_inff(), __builtin_nanf("")};
    if (random.one_in(5)) std::memcpy(&value, &special[random.below(std::size(special))], sizeof value);
    else value = random.near(value);
}

void mutate_place(WideTensorRecord &tensor, const Handles &handles, Random &random) {
    switch (random.below(4)) {
    case 0: tensor.buffer = any_handle(handles, random); break;
    case 1: tensor.data = HostWorld::memory_bytes - random.below(64); break;
    case 2: tensor.view_offs = random.near(tensor.view_offs); break;
    default: tensor.data = random.near(tensor.data);
    }
}

uint64_t any_id(const WideGraph &graph, Random &random) {
    if (random.one_in(6)) return random.below(3) == 0 ? 0 : random.edge();
    return graph.tensors[random.below(graph.tensors.size())].id;
}

void mutate_links(WideGraph &graph, WideTensorRecord &tensor, Random &random) {
    switch (random.below(6)) {
    case 0: tensor.view_src = any_id(graph, random); break;
    case 1: tensor.id = any_id(graph, random); break;
    case 2: std::swap(tensor.src[random.below(3)], tensor.src[random.below(10)]); break;
    case 3: tensor.src[random.below(10)] = any_id(graph, random); break;
    default: tensor.src[random.below(3)] = any_id(graph, random);
    }
}

// Where another tensor lies, mostly from its beginning on: as a view of it, as ggml says it, or as the guest alone knows it.
void share_place(const WideGraph &graph, WideTensorRecord &tensor, Random &random) {
    const WideTensorRecord &other = random.pick(graph.tensors);
    const uint64_t offset = random.one_in(4) ? 4 * random.below(64) : 0;
    const bool is_view = random.one_in(2);
    tensor.buffer = other.buffer;
    tensor.data = other.data + offset;
    if (!is_view) return;
    tensor.view_src = other.id;
    tensor.view_offs = offset;
}

void mutate_nodes(WideGraph &graph, Random &random) {
    std::vector<uint64_t> &nodes = graph.nodes;
    switch (random.below(4)) {
    case 0: nodes.push_back(any_id(graph, random)); break;
    case 1: nodes.insert(nodes.begin(), any_id(graph, random)); break;
    case 2:
        if (!nodes.empty()) nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(random.below(nodes.size())));
        break;
    default:
        if (!nodes.empty()) std::swap(random.pick(nodes), random.pick(nodes));
    }
}

// Two tensors trade what they are.
void trade_shapes(WideGraph &graph, Random &random) {
    WideTensorRecord &a = random.pick(graph.tensors);
    WideTensorRecord &b = random.pick(graph.tensors);
    std::swap(a.type, b.type);
    std::swap_ranges(a.ne, a.ne + 4, b.ne);
    std::swap_ranges(a.nb, a.nb + 4, b.nb);
    if (random.one_in(2)) std::swap(a.data, b.data);
}

// The same change of all tensors that have the dimension: what an op asks of its shapes then still holds.
void grow_together(WideGraph &graph, Random &random) {
    int64_t from = random.pick(graph.tensors).ne[random.below(4)];
    int64_t to = random.one_in(3) ? random.near(from) : static_cast<int64_t>(random.below(40));
    for (WideTensorRecord &tensor : graph.tensors) {
        std::replace(std::begin(tensor.ne), std::end(tensor.ne), from, to);
        make_contiguous(tensor);
    }
}

} // namespace

uint64_t any_handle(const Handles &handles, Random &random) {
    const uint64_t known[] = {handles.home, handles.pool, handles.known, handles.stale, handles.type, 0, handles.home + 1};
    return random.one_in(8) ? random.edge() : known[random.below(std::size(known))];
}

void mutate_tensor(WideTensorRecord &tensor, const Handles &handles, Random &random) {
    switch (random.below(8)) {
    case 0:
    case 1: mutate_shape(tensor, random); break;
    case 2: tensor.nb[random.below(4)] = random.near(tensor.nb[random.below(4)]); break;
    case 3: mutate_type(tensor, random); break;
    case 4: tensor.op = static_cast<uint32_t>(random.below(GGML_OP_COUNT + 1)); break;
    case 5: mutate_parameter(tensor, random); break;
    case 6: move_factor(tensor, random); break;
    default: mutate_place(tensor, handles, random);
    }
}

void mutate_graph(WideGraph &graph, const Handles &handles, Random &random) {
    if (graph.tensors.empty()) return;
    WideTensorRecord &tensor = random.pick(graph.tensors);
    switch (random.below(12)) {
    case 0:
    case 1: mutate_links(graph, tensor, random); break;
    case 2: mutate_nodes(graph, random); break;
    case 3: trade_shapes(graph, random); break;
    case 4: grow_together(graph, random); break;
    case 5: tensor.flags = static_cast<int32_t>(random.near(static_cast<uint32_t>(tensor.flags))); break;
    case 6:
    case 7: mutate_parameter(graph.tensors[0], random); break;
    case 8: share_place(graph, tensor, random); break;
    default: mutate_tensor(tensor, handles, random);
    }
}

void mutate_bytes(Bytes &bytes, Random &random) {
    if (bytes.empty()) return;
    size_t at = random.below(bytes.size());
    uint64_t value = random.edge();
    size_t aligned = at / 4 * 4;
    switch (random.below(5)) {
    case 0: bytes[at] ^= static_cast<uint8_t>(1u << random.below(8)); break;
    case 1: std::memcpy(bytes.data() + aligned, &value, std::min<size_t>(random.one_in(2) ? 4 : 8, bytes.size() - aligned)); break;
    case 2: bytes.resize(at); break;
    case 3: bytes.insert(bytes.end(), random.below(64), static_cast<uint8_t>(random.next())); break;
    default: {
        size_t size = random.below(bytes.size() - at);
        std::memmove(bytes.data() + random.below(bytes.size() - size), bytes.data() + at, size);
    }
    }
}

} // namespace apir::fuzz
