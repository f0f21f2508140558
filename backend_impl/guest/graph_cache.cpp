#include "graph_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "ggml_slots.hpp"

namespace apir::guest {

namespace {

// All fields of a tensor but its name and what backends hang on to it: shape, op, parameters, and the addresses of its sources,
// its data and its buffer.
constexpr size_t compared = offsetof(ggml_tensor, name);
static_assert(offsetof(ggml_tensor, type) < compared && offsetof(ggml_tensor, buffer) < compared &&
              offsetof(ggml_tensor, ne) < compared && offsetof(ggml_tensor, nb) < compared && offsetof(ggml_tensor, op) < compared &&
              offsetof(ggml_tensor, op_params) < compared && offsetof(ggml_tensor, flags) < compared &&
              offsetof(ggml_tensor, src) < compared && offsetof(ggml_tensor, view_src) < compared &&
              offsetof(ggml_tensor, view_offs) < compared && offsetof(ggml_tensor, data) < compared);

// Whether `size` bytes are the same, as memcmp has it, by words: the C library compares by vectors, which an emulated machine carries out at a
// quarter of the speed; of so few bytes as a tensor's fields have others see no difference.
bool same_bytes(const void *one, const void *other, size_t size) {
    const auto *first = static_cast<const uint8_t *>(one);
    const auto *second = static_cast<const uint8_t *>(other);
    uint64_t differing = 0;
    size_t at = 0;
#pragma GCC unroll 8
    for (; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t a = 0;
        uint64_t b = 0;
        std::memcpy(&a, first + at, sizeof a);
        std::memcpy(&b, second + at, sizeof b);
        differing |= a ^ b;
        asm volatile("" : "+r"(differing)); // or the compiler would make vectors of it
    }
    return differing == 0 && (at == size || std::memcmp(first + at, second + at, size - at) == 0);
}

// Where a tensor's data lies; a view's lies where its source's does.
ggml_backend_buffer_t lies_in(const ggml_tensor *tensor) {
    return tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
}

uint64_t handle_of(ggml_backend_buffer_t buffer) {
    return buffer != nullptr && is_own_buffer(buffer) ? remote_buffer(buffer).handle() : 0;
}

// Graphs that were built in one place after the other have the same nodes' addresses. A few nodes tell them apart, whatever their
// number: what programs change from graph to graph is in most of them.
size_t sample_step(size_t nodes) {
    constexpr size_t samples = 8;
    return std::max<size_t>(1, nodes / samples);
}

} // namespace

KeptGraph::KeptGraph(ggml_cgraph *graph, EncodedGraph &&encoded, uint64_t number) : number_(number) {
    become(graph, std::move(encoded));
}

void KeptGraph::become(ggml_cgraph *graph, EncodedGraph &&encoded) {
    encoded_ = std::move(encoded);
    remember(graph);
}

// One that cannot be remembered, for want of memory, has no nodes: then no graph is it.
void KeptGraph::remember(ggml_cgraph *graph) {
    nodes_.clear();
    const auto count = static_cast<size_t>(ggml_graph_n_nodes(graph));
    samples_.clear();
    for (size_t i = 0; i < count; i += sample_step(count)) {
        const auto *bytes = reinterpret_cast<const uint8_t *>(ggml_graph_node(graph, static_cast<int>(i)));
        samples_.insert(samples_.end(), bytes, bytes + compared);
    }
    fields_.resize(encoded_.tensors() * compared);
    buffers_.clear();
    ggml_backend_buffer_t last = nullptr;
    for (size_t i = 0; i < encoded_.tensors(); ++i) {
        const ggml_tensor *tensor = encoded_.order[i];
        std::memcpy(fields_.data() + i * compared, tensor, compared);
        ggml_backend_buffer_t buffer = lies_in(tensor);
        if (buffer == nullptr || buffer == last) continue;
        last = buffer;
        auto known = [&](const Lying &each) { return each.buffer == buffer; };
        if (std::none_of(buffers_.begin(), buffers_.end(), known)) buffers_.push_back({buffer, handle_of(buffer)});
    }
    nodes_.assign(ggml_graph_nodes(graph), ggml_graph_nodes(graph) + count);
}

bool KeptGraph::has_samples_of(ggml_cgraph *graph) const {
    if (static_cast<size_t>(ggml_graph_n_nodes(graph)) != nodes_.size()) return false;
    const uint8_t *sample = samples_.data();
    for (size_t i = 0; i < nodes_.size(); i += sample_step(nodes_.size()), sample += compared) {
        const ggml_tensor *node = ggml_graph_node(graph, static_cast<int>(i));
        if (node != nodes_[i] || !same_bytes(node, sample, compared)) return false;
    }
    return true;
}

// A tensor of last time is only looked at once something of now refers to it: a node, or a source of a tensor that was found
// to be the same. The records' order sees to that.
bool KeptGraph::is(ggml_cgraph *graph) const {
    if (static_cast<size_t>(ggml_graph_n_nodes(graph)) != nodes_.size()) return false;
    if (!same_bytes(ggml_graph_nodes(graph), nodes_.data(), nodes_.size() * sizeof nodes_[0])) return false;
    for (size_t i = 0; i < encoded_.tensors(); ++i)
        if (!same_bytes(encoded_.order[i], fields_.data() + i * compared, compared)) return false;
    return std::all_of(buffers_.begin(), buffers_.end(), [](const Lying &each) { return handle_of(each.buffer) == each.handle; });
}

bool KeptGraph::differences(const EncodedGraph &other, size_t limit, std::vector<uint32_t> &positions) const {
    bool alike = encoded_.wide == other.wide && encoded_.bytes.size() == other.bytes.size() &&
                 encoded_.records_at == other.records_at && encoded_.tensors() == other.tensors() &&
                 same_bytes(encoded_.bytes.data(), other.bytes.data(), other.records_at);
    positions.clear();
    for (size_t i = 0; alike && i < other.tensors(); ++i) {
        if (same_bytes(encoded_.record(i), other.record(i), other.record_size)) continue;
        positions.push_back(static_cast<uint32_t>(i));
        alike = positions.size() <= limit;
    }
    return alike;
}

KeptGraph *GraphCache::same(ggml_cgraph *graph) {
    // Most often it is the one of last time: of that nothing is looked at twice.
    auto found = std::find_if(graphs_.begin(), graphs_.end(), [&](const KeptGraph &each) {
        return (&each == &graphs_.front() || each.has_samples_of(graph)) && each.is(graph);
    });
    if (found == graphs_.end()) return nullptr;
    graphs_.splice(graphs_.begin(), graphs_, found);
    return &graphs_.front();
}

KeptGraph *GraphCache::similar(const EncodedGraph &graph, std::vector<uint32_t> &positions) {
    auto best = graphs_.end();
    size_t limit = graph.tensors() / 4;
    std::vector<uint32_t> differing;
    for (auto each = graphs_.begin(); each != graphs_.end(); ++each) {
        if (!each->differences(graph, limit, differing)) continue;
        best = each;
        positions = differing;
        if (positions.empty()) break;
        limit = positions.size() - 1;
    }
    if (best == graphs_.end()) return nullptr;
    graphs_.splice(graphs_.begin(), graphs_, best);
    return &graphs_.front();
}

std::vector<uint64_t> GraphCache::add(KeptGraph graph, size_t streams) {
    const size_t limit = std::clamp(max_graphs / std::max<size_t>(1, streams), min_graphs_of_one, max_graphs_of_one);
    std::vector<uint64_t> out;
    graphs_.push_front(std::move(graph));
    while (graphs_.size() > limit || bytes() > max_bytes) {
        const std::vector<uint64_t> oldest = drop_oldest();
        out.insert(out.end(), oldest.begin(), oldest.end());
    }
    return out;
}

std::vector<uint64_t> GraphCache::drop_oldest() {
    if (graphs_.empty()) return {};
    const uint64_t number = graphs_.back().number();
    graphs_.pop_back();
    if (number == KeptGraph::not_on_host) return {};
    return {number};
}

size_t GraphCache::bytes() const {
    size_t all = 0;
    for (const KeptGraph &each : graphs_) all += each.footprint();
    return all;
}

void GraphCache::forget(const KeptGraph *graph) {
    graphs_.remove_if([&](const KeptGraph &each) { return &each == graph; });
}

std::vector<uint64_t> GraphCache::numbers() const {
    std::vector<uint64_t> all;
    for (const KeptGraph &each : graphs_)
        if (each.on_host()) all.push_back(each.number());
    return all;
}

} // namespace apir::guest
