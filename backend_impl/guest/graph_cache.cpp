#include "graph_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "ggml_slots.hpp"
#include "one_page.hpp"
#include "tensor_encoding.hpp"

namespace apir::guest {

namespace {

// All fields of a tensor but its name and what backends hang on to it: shape, op, parameters, and the addresses of its sources,
// its data and its buffer.
constexpr size_t compared = offsetof(ggml_tensor, name);
constexpr size_t name_size = sizeof(ggml_tensor::name);
static_assert(offsetof(ggml_tensor, type) < compared && offsetof(ggml_tensor, buffer) < compared &&
              offsetof(ggml_tensor, ne) < compared && offsetof(ggml_tensor, nb) < compared && offsetof(ggml_tensor, op) < compared &&
              offsetof(ggml_tensor, op_params) < compared && offsetof(ggml_tensor, flags) < compared &&
              offsetof(ggml_tensor, src) < compared && offsetof(ggml_tensor, view_src) < compared &&
              offsetof(ggml_tensor, view_offs) < compared && offsetof(ggml_tensor, data) < compared);

// Where the fields of a tensor are that refer to others, between those that do not.
constexpr size_t sources_from = offsetof(ggml_tensor, src);
constexpr size_t told_again_from = offsetof(ggml_tensor, view_offs);
static_assert(offsetof(ggml_tensor, view_src) == sources_from + sizeof(ggml_tensor::src) &&
              told_again_from == offsetof(ggml_tensor, view_src) + sizeof(ggml_tensor::view_src));

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

// Whether so many tensors have the fields that were kept of them, one's behind the other's. Of a graph that is computed again and again, this is most of what
// its guest's part costs.
IN_ONE_PAGE bool same_tensors(const ggml_tensor *const *tensors, size_t count, const uint8_t *kept) {
    for (size_t i = 0; i < count; ++i)
        if (!same_bytes(tensors[i], kept + i * compared, compared)) return false;
    return true;
}

// Where a tensor's data lies; a view's lies where its source's does.
ggml_backend_buffer_t lies_in(const ggml_tensor *tensor) {
    return tensor->view_src != nullptr ? tensor->view_src->buffer : tensor->buffer;
}

// How a tensor compares with what was kept of another.
enum class Alike { yes, but_for_its_looks, no };

template <typename Field> bool same_field(const ggml_tensor *tensor, const uint8_t *kept, Field ggml_tensor::*field) {
    const auto at = reinterpret_cast<const uint8_t *>(&(tensor->*field)) - reinterpret_cast<const uint8_t *>(tensor);
    return std::memcmp(&(tensor->*field), kept + at, sizeof(Field)) == 0;
}

// What it refers to is left aside. What is told without an operation goes by its name, too.
Alike alike(const ggml_tensor *tensor, const EncodedGraph::Links &links, const uint8_t *kept, const char *name) {
    const auto *fields = reinterpret_cast<const uint8_t *>(tensor);
    const bool looks = same_bytes(fields, kept, sources_from) &&
                       same_bytes(fields + told_again_from, kept + told_again_from, compared - told_again_from);
    const bool named = links.op != GGML_OP_NONE || std::strncmp(tensor->name, name, name_size) == 0;
    if (looks && named) return Alike::yes;
    const bool same_kind = same_field(tensor, kept, &ggml_tensor::type) && same_field(tensor, kept, &ggml_tensor::op) &&
                           same_field(tensor, kept, &ggml_tensor::flags) && same_field(tensor, kept, &ggml_tensor::buffer);
    // Whether the host has its memory may depend on its looks where it lies in no buffer of ours.
    return same_kind && own_buffer(tensor) != nullptr ? Alike::but_for_its_looks : Alike::no;
}

// Whether what a tensor refers to can be the one with this id: the one that was met under it, or the first that is.
bool meets(const ggml_tensor *tensor, uint32_t id, std::vector<const ggml_tensor *> &by_id) {
    if (tensor == nullptr || id == 0) return tensor == nullptr && id == 0;
    if (by_id[id] == nullptr) by_id[id] = tensor;
    return by_id[id] == tensor;
}

// Whether what was two tensors is one now.
bool stands_twice(std::vector<const ggml_tensor *> tensors) {
    std::sort(tensors.begin(), tensors.end());
    return std::adjacent_find(tensors.begin(), tensors.end()) != tensors.end();
}

template <typename Record> bool write_record(EncodedGraph &graph, size_t i) {
    const ggml_tensor *tensor = graph.order[i];
    std::optional<Record> record = record_of<Record>(tensor);
    if (!record) return false;
    const EncodedGraph::Links &links = graph.links[i];
    record->id = links.id;
    record->op = links.op;
    std::copy(links.sources.begin(), links.sources.end(), std::begin(record->src));
    record->view_src = links.view_source;
    record->view_offs = tensor->view_offs;
    Writer writer(graph.bytes.data() + graph.records_at + i * graph.record_size, graph.record_size);
    write(writer, *record);
    return true;
}

uint64_t handle_of(ggml_backend_buffer_t buffer) {
    return buffer != nullptr && is_own_buffer(buffer) ? remote_buffer(buffer).handle() : 0;
}

// Once each, of those that are ours.
void add_handle(ggml_backend_buffer_t buffer, DoubtfulBuffers::Handles &handles) {
    const uint64_t handle = handle_of(buffer);
    if (handle != 0 && std::find(handles.begin(), handles.end(), handle) == handles.end()) handles.push_back(handle);
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

void KeptGraph::move_to(ggml_cgraph *graph, const Elsewhere &now) {
    encoded_.order = now.order;
    remember(graph);
}

size_t KeptGraph::footprint() const {
    return encoded_.bytes.size() + encoded_.links.size() * sizeof(EncodedGraph::Links) + fields_.size() + names_.size();
}

const uint8_t *KeptGraph::fields(size_t i) const { return fields_.data() + i * compared; }

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
    names_.resize(encoded_.tensors() * name_size);
    buffers_.clear();
    ggml_backend_buffer_t last = nullptr;
    ggml_backend_buffer_t last_written = nullptr;
    DoubtfulBuffers::Handles written;
    for (size_t i = 0; i < encoded_.tensors(); ++i) {
        const ggml_tensor *tensor = encoded_.order[i];
        std::memcpy(fields_.data() + i * compared, tensor, compared);
        if (encoded_.links[i].op == GGML_OP_NONE) std::memcpy(names_.data() + i * name_size, tensor->name, name_size);
        ggml_backend_buffer_t buffer = lies_in(tensor);
        if (buffer != last_written && encoded_.links[i].node && !only_a_view(tensor)) {
            last_written = buffer;
            add_handle(buffer, written);
        }
        // The one operation that writes sources of its own: the two momenta.
        if (encoded_.links[i].op == GGML_OP_OPT_STEP_ADAMW)
            for (const ggml_tensor *momentum : {tensor->src[2], tensor->src[3]})
                if (momentum != nullptr) add_handle(lies_in(momentum), written);
        if (buffer == nullptr || buffer == last) continue;
        last = buffer;
        auto known = [&](const Lying &each) { return each.buffer == buffer; };
        if (std::none_of(buffers_.begin(), buffers_.end(), known)) buffers_.push_back(lying_in(buffer));
    }
    if (written_ == nullptr || *written_ != written) written_ = std::make_shared<const DoubtfulBuffers::Handles>(std::move(written));
    nodes_.assign(ggml_graph_nodes(graph), ggml_graph_nodes(graph) + count);
}

KeptGraph::Lying KeptGraph::lying_in(ggml_backend_buffer_t buffer) {
    const uint64_t handle = handle_of(buffer);
    return {buffer, handle, handle != 0 ? remote_buffer(buffer).base() : nullptr};
}

bool KeptGraph::has_its_buffers() const {
    return std::all_of(buffers_.begin(), buffers_.end(), [](const Lying &each) {
        const Lying now = lying_in(each.buffer);
        return now.handle == each.handle && now.base == each.base;
    });
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

bool KeptGraph::has_looks_of(ggml_cgraph *graph) const {
    if (static_cast<size_t>(ggml_graph_n_nodes(graph)) != nodes_.size()) return false;
    size_t looked_at = 0;
    size_t same = 0;
    for (size_t i = 0; i < nodes_.size(); i += sample_step(nodes_.size())) {
        const uint8_t *sample = samples_.data() + compared * looked_at++;
        if (same_bytes(ggml_graph_node(graph, static_cast<int>(i)), sample, sources_from)) ++same;
    }
    return 2 * same >= looked_at;
}

// A tensor of last time is only looked at once something of now refers to it: a node, or a source of a tensor that was found
// to be the same. The records' order sees to that.
bool KeptGraph::is(ggml_cgraph *graph) const {
    if (static_cast<size_t>(ggml_graph_n_nodes(graph)) != nodes_.size()) return false;
    if (!same_bytes(ggml_graph_nodes(graph), nodes_.data(), nodes_.size() * sizeof nodes_[0])) return false;
    if (!same_tensors(encoded_.order.data(), encoded_.tensors(), fields_.data())) return false;
    return has_its_buffers();
}

// A record's tensor is a node or has been met in an earlier record, now as then: there always is one. Sources of what is no node are not
// followed, as they were not: another graph computes such a one, or nobody. Two tensors that had all in common may be one now: then the host
// would have to be told, for it may go by who reads whom.
bool KeptGraph::leads_through(ggml_cgraph *graph, size_t limit, Elsewhere &now) const {
    if (static_cast<size_t>(ggml_graph_n_nodes(graph)) != nodes_.size()) return false;
    now.by_id.assign(encoded_.tensors() + 1, nullptr);
    now.order.clear();
    now.differing.clear();
    for (size_t i = 0; i < nodes_.size(); ++i)
        if (!meets(ggml_graph_node(graph, static_cast<int>(i)), encoded_.nodes[i], now.by_id)) return false;
    for (size_t i = 0; i < encoded_.tensors(); ++i) {
        const EncodedGraph::Links &links = encoded_.links[i];
        const ggml_tensor *tensor = now.by_id[links.id];
        const Alike how = alike(tensor, links, fields(i), names_.data() + i * name_size);
        if (how == Alike::but_for_its_looks) now.differing.push_back(static_cast<uint32_t>(i));
        if (how == Alike::no || now.differing.size() > limit || !meets(tensor->view_src, links.view_source, now.by_id)) return false;
        for (size_t at = 0; links.node && at < max_sources; ++at)
            if (!meets(tensor->src[at], links.sources[at], now.by_id)) return false;
        now.order.push_back(tensor);
    }
    if (stands_twice(now.order)) return false;
    // Each of these lies behind a tensor of now.
    return has_its_buffers();
}

std::optional<EncodedGraph> KeptGraph::encoded_as(const Elsewhere &now) const {
    EncodedGraph graph = encoded_;
    graph.order = now.order;
    for (uint32_t i : now.differing)
        if (!(graph.wide ? write_record<WideTensorRecord>(graph, i) : write_record<TensorRecord>(graph, i))) return std::nullopt;
    return graph;
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

KeptGraph *GraphCache::elsewhere(ggml_cgraph *graph, EncodedGraph &now, std::vector<uint32_t> &positions) {
    auto best = graphs_.end();
    for (auto each = graphs_.begin(); each != graphs_.end(); ++each) {
        if (!each->has_looks_of(graph)) continue;
        size_t limit = each->encoded().tensors() / 4;
        if (best != graphs_.end()) limit = std::min(limit, best_.differing.size() - 1);
        if (!each->leads_through(graph, limit, now_)) continue;
        best = each;
        std::swap(best_, now_);
        if (best_.differing.empty()) break;
    }
    if (best == graphs_.end()) return nullptr;
    positions = best_.differing;
    if (positions.empty()) {
        best->move_to(graph, best_);
    } else {
        std::optional<EncodedGraph> encoded = best->encoded_as(best_);
        if (!encoded) return nullptr;
        now = std::move(*encoded);
    }
    graphs_.splice(graphs_.begin(), graphs_, best);
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
