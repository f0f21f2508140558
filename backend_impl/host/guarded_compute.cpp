#include "guarded_compute.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <climits>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <unordered_set>

#include "graph_work.hpp"
#include "op_rules.hpp"
#include "refusal.hpp"
#include "tensor_check.hpp"

namespace apir::host {
namespace {

// What a guest can make the host hold: copies for one part, or a single one that is larger, beside one result that is sorted elsewhere;
// and what is noted of each place in the graph where a node uses data. Graphs of models have some thousands of those; to list a node once
// more costs the guest eight bytes, and the host half a kilobyte.
constexpr uint64_t most_copied_bytes = uint64_t{64} << 20;
constexpr size_t most_guarded = size_t{1} << 17;

// Of each of its lists a worker keeps so much from one graph to the next.
constexpr size_t most_kept_bytes = size_t{4} << 20;

template <typename Element> void clear(std::vector<Element> &list) {
    if (list.capacity() > most_kept_bytes / sizeof(Element)) std::vector<Element>().swap(list);
    list.clear();
}

struct Range {
    uintptr_t begin, end;
};

// A kernel may write as if its result were contiguous.
Range range_of(const ggml_tensor &tensor) {
    Extent reach = extent_of(tensor);
    auto begin = reinterpret_cast<uintptr_t>(tensor.data);
    return {begin, begin + (reach.strided > reach.packed ? reach.strided : reach.packed)};
}

// Nothing is read for a result of no elements, which may be any number of rows without a column.
bool computes(const ggml_tensor &node) { return (node.flags & GGML_TENSOR_FLAG_COMPUTE) != 0 && !is_view_op(node.op) && !ggml_is_empty(&node); }

// Copies the numbers side by side, in order; each is read once and put to `check`.
template <typename Number, typename Check> void copy_checked(const ggml_tensor &from, uint8_t *to, Check check) {
    if (ggml_is_empty(&from)) return;
    const auto *data = static_cast<const uint8_t *>(from.data);
    for (int64_t i3 = 0; i3 < from.ne[3]; ++i3)
        for (int64_t i2 = 0; i2 < from.ne[2]; ++i2)
            for (int64_t i1 = 0; i1 < from.ne[1]; ++i1) {
                const uint8_t *row = data + i1 * from.nb[1] + i2 * from.nb[2] + i3 * from.nb[3];
                for (int64_t i0 = 0; i0 < from.ne[0]; ++i0, to += sizeof(Number)) {
                    Number number;
                    std::memcpy(&number, row + i0 * from.nb[0], sizeof number);
                    check(number);
                    std::memcpy(to, &number, sizeof number);
                }
            }
}

template <typename Number> void copy_indices(const ggml_tensor &from, uint8_t *to, const DataUse &use, const char *op) {
    copy_checked<Number>(from, to, [&](Number index) {
        if (index < use.least || index >= use.limit) refuse("%s takes number %" PRId64 " of %" PRId64, op, static_cast<int64_t>(index), use.limit);
    });
}

void copy_used(const ggml_tensor &node, const DataUse &use, const ggml_tensor &from, uint8_t *to) {
    const char *op = ggml_op_name(node.op);
    bool indices = use.kind == DataUse::Kind::indices;
    if (indices && from.type == GGML_TYPE_I64) return copy_indices<int64_t>(from, to, use, op);
    if (indices && from.type == GGML_TYPE_I32) return copy_indices<int32_t>(from, to, use, op);
    if (indices || from.type != GGML_TYPE_F32) refuse("%s by numbers of type %s", op, ggml_type_name(from.type));
    bool sorted = use.kind == DataUse::Kind::sorted;
    copy_checked<float>(from, to, [&](float number) {
        if (sorted && std::isnan(number)) refuse("%s of what is not a number", op);
    });
}

void make_contiguous(ggml_tensor &tensor) {
    tensor.nb[0] = ggml_type_size(tensor.type);
    for (int i = 1; i < GGML_MAX_DIMS; ++i) tensor.nb[i] = tensor.nb[i - 1] * static_cast<size_t>(tensor.ne[i - 1]);
}

uint64_t copied_bytes_of(const ggml_tensor &source, const DataUse &use) {
    uint64_t size = extent_of(source).packed;
    return use.kind == DataUse::Kind::padded ? std::max<uint64_t>(size, static_cast<uint64_t>(use.limit) * sizeof(float)) : size;
}

ggml_status run(ggml_backend_t backend, ggml_cgraph *graph) {
    try {
        return ggml_backend_graph_compute(backend, graph);
    } catch (const std::exception &failure) {
        throw BackendThrew(failure.what());
    } catch (...) {
        throw BackendThrew("an exception");
    }
}

} // namespace

// The graph gets its own tensors back, however it ends.
struct GuardedCompute::GiveBack {
    ~GiveBack() {
        compute.give_back(0, INT_MAX);
        clear(compute.guarded_);
        clear(compute.pool_);
    }
    GuardedCompute &compute;
};

// Memory that nodes write to: ranges that do not touch, by their beginning.
struct GuardedCompute::Written {
    void add(Range range) {
        auto at = ranges.upper_bound(range.begin);
        if (at != ranges.begin() && std::prev(at)->second >= range.begin) --at;
        while (at != ranges.end() && at->first <= range.end) {
            range = {std::min(range.begin, at->first), std::max(range.end, at->second)};
            at = ranges.erase(at);
        }
        ranges.emplace(range.begin, range.end);
    }
    // A step of an optimiser writes to its sources, too.
    void add_of(const ggml_tensor &node) {
        if (!computes(node)) return;
        add(range_of(node));
        if (node.op != GGML_OP_OPT_STEP_ADAMW && node.op != GGML_OP_OPT_STEP_SGD) return;
        for (const ggml_tensor *source : node.src)
            if (source != nullptr) add(range_of(*source));
    }
    bool touches(Range range) const {
        auto at = ranges.lower_bound(range.end);
        return at != ranges.begin() && std::prev(at)->second > range.begin;
    }

    std::map<uintptr_t, uintptr_t> ranges;
};

void GuardedCompute::check_work(ggml_cgraph *graph) const {
    double sum = 0;
    for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
        const ggml_tensor &node = *ggml_graph_node(graph, i);
        double work = work_of(node);
        if (work > limits_.node_work) refuse("%s of %.3g steps, more than the %.3g that one node may have", ggml_op_name(node.op), work, limits_.node_work);
        sum += work;
    }
    if (sum > limits_.graph_work) refuse("a graph of %.3g steps, more than the %.3g that one may have (ggml.graph_work)", sum, limits_.graph_work);
}

void GuardedCompute::find_guarded(ggml_cgraph *graph) {
    std::unordered_set<const ggml_tensor *> sorted;
    for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
        ggml_tensor *node = ggml_graph_node(graph, i);
        if (!computes(*node)) continue;
        DataUse use = data_use(*node);
        if (use.kind == DataUse::Kind::none) continue;
        if (guarded_.size() == most_guarded) refuse("a graph of more than %zu nodes whose data says where their kernels go", most_guarded);
        Guarded guarded;
        guarded.node = node, guarded.position = i, guarded.use = use;
        guarded.source = node->src[use.source];
        if (!ggml_backend_buffer_is_host(guarded.source->buffer)) refuse("%s by numbers that the host cannot read", ggml_op_name(node->op));
        guarded.again = use.kind == DataUse::Kind::sorted && !sorted.insert(node).second;
        guarded_.push_back(std::move(guarded));
    }
}

std::pair<size_t, size_t> GuardedCompute::guarded_in(int begin, int end) const {
    auto before = [](const Guarded &each, int position) { return each.position < position; };
    auto first = std::lower_bound(guarded_.begin(), guarded_.end(), begin, before);
    auto last = std::lower_bound(first, guarded_.end(), end, before);
    return {static_cast<size_t>(first - guarded_.begin()), static_cast<size_t>(last - guarded_.begin())};
}

// Where the part from `begin` on ends. Before the first node that uses data which a node of the part may write to; before one for whose
// copy there is no room beside the others', or that sorts and did so before in the graph, unless the part begins with it. Behind the first
// one that sorts: its result lies elsewhere until the part has been computed. Else with the graph.
int GuardedCompute::part_end(ggml_cgraph *graph, int begin) const {
    int count = ggml_graph_n_nodes(graph);
    Written written;
    uint64_t copied_bytes = 0;
    auto [first, last] = guarded_in(begin, count);
    for (size_t at = first; at < last; ++at) {
        const Guarded &next = guarded_[at];
        bool alone = next.position == begin && at == first;
        for (; begin < next.position; ++begin) written.add_of(*ggml_graph_node(graph, begin));
        copied_bytes += copied_bytes_of(*next.source, next.use);
        if (written.touches(range_of(*next.source)) || (copied_bytes > most_copied_bytes && !alone)) return next.position;
        // What it has made before may still be taken in this part.
        if (next.use.kind == DataUse::Kind::sorted) return next.again && !alone ? next.position : next.position + 1;
    }
    return count;
}

void GuardedCompute::take(int begin, int end) {
    auto [first, last] = guarded_in(begin, end);
    for (size_t i = first; i < last; ++i) {
        Guarded &each = guarded_[i];
        each.content.resize(copied_bytes_of(*each.source, each.use));
        copy_used(*each.node, each.use, *each.source, each.content.data());
        each.copy = *each.source;
        make_contiguous(each.copy);
        each.copy.data = each.content.data();
        each.node->src[each.use.source] = &each.copy;
        if (each.use.kind != DataUse::Kind::sorted) continue;
        each.sorted.resize(extent_of(*each.node).packed);
        each.result = each.node->data;
        each.node->data = each.sorted.data();
    }
}

void GuardedCompute::give_back(int begin, int end) {
    auto [first, last] = guarded_in(begin, end);
    for (size_t i = first; i < last; ++i) {
        Guarded &each = guarded_[i];
        each.node->src[each.use.source] = each.source;
        std::vector<uint8_t>().swap(each.content);
        if (each.result == nullptr) continue;
        each.node->data = each.result;
        each.result = nullptr;
        std::copy(each.sorted.begin(), each.sorted.end(), static_cast<uint8_t *>(each.node->data));
        std::vector<uint8_t>().swap(each.sorted);
    }
}

ggml_status GuardedCompute::compute_part(ggml_backend_t backend, ggml_cgraph *graph, int begin, int end) {
    auto count = static_cast<size_t>(end - begin);
    pool_.resize(ggml_graph_overhead_custom(count, false) + ggml_tensor_overhead());
    std::unique_ptr<ggml_context, void (*)(ggml_context *)> context(ggml_init({pool_.size(), pool_.data(), true}), ggml_free);
    if (context == nullptr) throw std::bad_alloc();
    ggml_cgraph *part = ggml_new_graph_custom(context.get(), count, false);
    for (int i = begin; i < end; ++i) ggml_graph_add_node(part, ggml_graph_node(graph, i));
    return run(backend, part);
}

ggml_status GuardedCompute::compute(ggml_backend_t backend, bool in_host_memory, ggml_cgraph *graph) {
#if defined(APIR_UNCHECKED) // to measure what the checks cost (fuzz/check_cost.cpp)
    (void)in_host_memory;
    return run(backend, graph);
#endif
    check_work(graph);
    GiveBack give_back_at_end{*this};
    if (in_host_memory) find_guarded(graph);
    if (guarded_.empty()) return run(backend, graph);
    int count = ggml_graph_n_nodes(graph);
    for (int begin = 0, end; begin < count; begin = end) {
        end = part_end(graph, begin);
        take(begin, end);
        ggml_status status = end - begin == count ? run(backend, graph) : compute_part(backend, graph, begin, end);
        give_back(begin, end);
        if (status != GGML_STATUS_SUCCESS) return status;
    }
    return GGML_STATUS_SUCCESS;
}

} // namespace apir::host
