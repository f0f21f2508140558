// A graph that is built in another place is known again by following it: what is found to be the same, and what is encoded of what
// differs, is byte for byte what encoding the whole of it gives. Of thousands of graphs, with whatever may differ changed.
//
// Usage: test-guest-graph-cache HOST_LIBRARY GGML_BACKEND_LIBRARY
#include <cstring>
#include <functional>
#include <optional>
#include <random>

#include "extension_run.hpp"
#include "guest/graph_cache.hpp"

using namespace apir;
using namespace apir::guest;
using namespace apir::guest::test;

namespace {

constexpr size_t leaf_count = 4;
constexpr size_t node_count = 24;
constexpr int64_t numbers = 16;
constexpr size_t tensor_bytes = 64;
constexpr size_t alignment = 256; // of places in the buffer

// The same seed gives the same graph, in memory of its own. Its last leaf was computed in another graph. `wide`: with a stride beyond 32 bits.
struct Sample {
    Sample(ggml_backend_buffer_t buffer, uint32_t seed, const char *node_names = "", bool wide = false)
        : buffer(buffer), context(guest::test::context()), graph(ggml_new_graph_custom(context.get(), 64, false)), random(seed) {
        for (size_t i = 0; i + 1 < leaf_count; ++i) {
            leaves.push_back(placed(ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, numbers)));
            ggml_format_name(leaves.back(), "leaf %zu", i);
        }
        ggml_tensor *unseen = placed(ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, numbers));
        leaves.push_back(placed(ggml_sqr(context.get(), unseen)));
        ggml_set_name(leaves.back(), "what another graph computes");
        while (nodes.size() < node_count) {
            nodes.push_back(another());
            nodes.back()->flags |= GGML_TENSOR_FLAG_COMPUTE;
            ggml_format_name(nodes.back(), "%s%zu", node_names, nodes.size());
            ggml_graph_add_node(graph, nodes.back());
        }
        if (wide) nodes[1]->nb[3] = size_t{1} << 40;
    }

    ggml_tensor *placed(ggml_tensor *tensor) {
        ggml_backend_tensor_alloc(buffer, tensor, static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer)) + alignment * places++);
        return tensor;
    }

    ggml_tensor *any() {
        size_t at = random() % (leaves.size() + nodes.size());
        return at < leaves.size() ? leaves[at] : nodes[at - leaves.size()];
    }

    ggml_tensor *another() {
        switch (random() % 4) {
        case 0: return placed(ggml_scale(context.get(), any(), static_cast<float>(random() % 7)));
        case 1: {
            ggml_tensor *view = ggml_view_1d(context.get(), any(), numbers, 0);
            ggml_backend_view_init(view);
            return view;
        }
        default: {
            ggml_tensor *first = any();
            return placed(ggml_add(context.get(), first, any()));
        }
        }
    }

    // What a node reads, of this operation.
    ggml_tensor *read(enum ggml_op op) {
        for (ggml_tensor *node : nodes)
            for (ggml_tensor *source : node->src)
                if (source != nullptr && source->op == op) return source;
        return nullptr;
    }

    // The first node of this operation from a random one on.
    ggml_tensor *node_of(enum ggml_op op) {
        size_t first = random() % nodes.size();
        for (size_t i = 0; i < nodes.size(); ++i)
            if (nodes[(first + i) % nodes.size()]->op == op) return nodes[(first + i) % nodes.size()];
        return nullptr;
    }

    EncodedGraph encoded() {
        EncodedGraph whole;
        std::string error;
        const bool done = encode_graph(graph, true, whole, error);
        expect(done, "encoding: " + error);
        return whole;
    }

    ggml_backend_buffer_t buffer;
    Context context;
    ggml_cgraph *graph;
    std::mt19937 random;
    size_t places = 0;
    std::vector<ggml_tensor *> leaves;
    std::vector<ggml_tensor *> nodes;
};

uint8_t *moved(ggml_tensor *tensor) { return static_cast<uint8_t *>(tensor->data) + alignment / 2; }

struct Change {
    const char *what;
    // Records that may differ for it to be followed; -1 where it has to be encoded.
    int differing;
    // False when the graph has nothing to change in this way.
    std::function<bool(Sample &)> make;
};

bool with(ggml_tensor *tensor, const std::function<void(ggml_tensor *)> &change) {
    if (tensor != nullptr) change(tensor);
    return tensor != nullptr;
}

const std::vector<Change> changes{
    {"nothing", 0, [](Sample &) { return true; }},
    {"a parameter", 1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_SCALE), [](ggml_tensor *t) { t->op_params[0] ^= 1; });
     }},
    {"the last parameter", 1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_ADD), [](ggml_tensor *t) { t->op_params[GGML_MAX_OP_PARAMS / sizeof(int32_t) - 1] = 1; });
     }},
    {"a stride", 1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_ADD), [](ggml_tensor *t) { t->nb[3] += 64; });
     }},
    {"a shape", 1,
     [](Sample &s) {
         return with(s.read(GGML_OP_NONE), [](ggml_tensor *t) { t->ne[0] -= 1; });
     }},
    {"the shape of what another graph computes", 1,
     [](Sample &s) {
         return with(s.read(GGML_OP_SQR), [](ggml_tensor *t) { t->ne[0] -= 1; });
     }},
    {"what another graph computes it from", 0,
     [](Sample &s) {
         return with(s.read(GGML_OP_SQR), [](ggml_tensor *t) { t->src[0] = reinterpret_cast<ggml_tensor *>(alignment); });
     }},
    {"the name of what another graph computes", 1,
     [](Sample &s) {
         return with(s.read(GGML_OP_SQR), [](ggml_tensor *t) { ggml_set_name(t, "another name"); });
     }},
    {"how another graph computes it", -1,
     [](Sample &s) {
         return with(s.read(GGML_OP_SQR), [](ggml_tensor *t) { t->op = GGML_OP_SQRT; });
     }},
    {"how half of the first nodes looked at look", 4,
     [](Sample &s) {
         for (size_t i = 0; i < 4; ++i) s.nodes[3 * i]->nb[2] += 64;
         return true;
     }},
    {"how most of the first nodes looked at look", -1,
     [](Sample &s) {
         for (size_t i = 0; i < 5; ++i) s.nodes[3 * i]->nb[2] += 64;
         return true;
     }},
    {"where a node lies", 1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_SCALE), [](ggml_tensor *t) { t->data = moved(t); });
     }},
    {"where a view lies", 1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_VIEW), [](ggml_tensor *t) {
             t->view_offs = alignment / 2;
             t->data = moved(t);
         });
     }},
    {"a leaf's name", 1,
     [](Sample &s) {
         return with(s.read(GGML_OP_NONE), [](ggml_tensor *t) { ggml_set_name(t, "another leaf"); });
     }},
    {"many shapes", -1,
     [](Sample &s) {
         for (ggml_tensor *t : s.nodes) t->nb[3] += 64;
         return true;
     }},
    {"an operation", -1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_ADD), [](ggml_tensor *t) { t->op = GGML_OP_SUB; });
     }},
    {"a node that is not computed", -1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_SCALE), [](ggml_tensor *t) { t->flags &= ~GGML_TENSOR_FLAG_COMPUTE; });
     }},
    {"a type", -1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_ADD), [](ggml_tensor *t) { t->type = GGML_TYPE_I32; });
     }},
    {"a source more", -1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_SCALE), [&](ggml_tensor *t) { t->src[GGML_MAX_SRC - 1] = s.leaves[0]; });
     }},
    {"a source less", -1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_ADD), [](ggml_tensor *t) { t->src[1] = nullptr; });
     }},
    {"the order of nodes", -1,
     [](Sample &s) {
         std::swap(ggml_graph_nodes(s.graph)[0], ggml_graph_nodes(s.graph)[1]);
         return true;
     }},
    {"a node twice", -1,
     [](Sample &s) {
         ggml_graph_nodes(s.graph)[node_count - 1] = ggml_graph_nodes(s.graph)[0];
         return true;
     }},
};

// Sources of an addition in each other's place, or one of them another: the same records in other roles, if they are followed.
const std::vector<Change> other_sources{
    {"sources in each other's place", -1,
     [](Sample &s) {
         ggml_tensor *node = s.node_of(GGML_OP_ADD);
         if (node == nullptr || node->src[0] == node->src[1]) return false;
         std::swap(node->src[0], node->src[1]);
         return true;
     }},
    {"another source", -1,
     [](Sample &s) {
         return with(s.node_of(GGML_OP_ADD), [&](ggml_tensor *t) { t->src[s.random() % 2] = s.leaves[s.random() % leaf_count]; });
     }},
    {"another view's source", -1,
     [](Sample &s) {
         ggml_tensor *view = s.node_of(GGML_OP_VIEW);
         if (view == nullptr) return false;
         view->view_src = s.leaves[s.random() % leaf_count];
         return true;
     }},
};

// Whether it was followed, or nothing where there was nothing to change; what came of it must be what encoding the whole gives, whatever
// was changed.
std::optional<bool> known(ggml_backend_buffer_t buffer, uint32_t seed, const Change &change) {
    const bool wide = seed % 4 == 0;
    Sample first(buffer, seed, "then ", wide);
    GraphCache cache;
    cache.add(KeptGraph(first.graph, first.encoded(), 7), 1);
    Sample second(buffer, seed, "then ", wide);
    if (!change.make(second)) return std::nullopt;
    const EncodedGraph whole = second.encoded();
    expect(whole.wide == wide, "wide records where they are needed");
    EncodedGraph now;
    std::vector<uint32_t> positions;
    const std::string what = std::string(change.what) + ", seed " + std::to_string(seed);
    KeptGraph *found = cache.elsewhere(second.graph, now, positions);
    if (found == nullptr) return false;
    const EncodedGraph &told = positions.empty() ? found->encoded() : now;
    expect(told.bytes == whole.bytes && told.order == whole.order, what + ": not what encoding it gives");
    std::vector<uint32_t> differing;
    if (!positions.empty() && !(found->differences(whole, whole.tensors(), differing) && differing == positions))
        expect(false, what + ": other records differ");
    if (change.differing >= 0)
        expect(static_cast<int>(positions.size()) == change.differing, what + ": " + std::to_string(positions.size()) + " differ");
    if (positions.empty()) expect(cache.same(second.graph) == found, what + ": not where it is now");
    return true;
}

void graphs_elsewhere(ggml_backend_buffer_t buffer) {
    constexpr uint32_t seeds = 300;
    auto each = [&](const Change &change, const std::function<void(uint32_t, bool)> &look) {
        uint32_t changed = 0;
        for (uint32_t seed = 0; seed < seeds; ++seed) {
            const std::optional<bool> followed = known(buffer, seed, change);
            if (!followed) continue;
            ++changed;
            look(seed, *followed);
        }
        expect(changed > seeds / 4, std::string(change.what) + ": changed in " + std::to_string(changed) + " graphs only");
        return changed;
    };
    for (const Change &change : changes)
        each(change, [&](uint32_t seed, bool followed) {
            expect(followed == (change.differing >= 0), std::string("followed or not: ") + change.what + ", seed " + std::to_string(seed));
        });
    // By chance they may be the same graph.
    for (const Change &change : other_sources) {
        uint32_t refused = 0;
        const uint32_t changed = each(change, [&](uint32_t, bool followed) { refused += followed ? 0 : 1; });
        expect(2 * refused > changed, std::string(change.what) + ": refused " + std::to_string(refused) + " times");
    }
}

// Names of nodes mean nothing; the closest of several graphs is taken; one that does not fit the records is encoded as a whole.
void choice(ggml_backend_buffer_t buffer) {
    GraphCache cache;
    EncodedGraph encoded;
    std::vector<uint32_t> positions;
    Sample now(buffer, 5, "other names ");
    Sample close(buffer, 5);
    close.nodes[0]->nb[3] += 64;
    for (uint64_t number : {2, 1, 3}) {
        Sample far(buffer, 5);
        for (size_t i = 0; i < 4; ++i) far.nodes[i]->nb[3] += 64;
        cache.add(number == 1 ? KeptGraph(close.graph, close.encoded(), number) : KeptGraph(far.graph, far.encoded(), number), 1);
    }
    KeptGraph *found = cache.elsewhere(now.graph, encoded, positions);
    expect(found != nullptr && found->number() == 1 && positions.size() == 1, "the closest one");

    now.nodes[0]->nb[3] = size_t{1} << 40;
    expect(cache.elsewhere(now.graph, encoded, positions) == nullptr, "a stride that the records have no room for");
    now.nodes[0]->nb[3] = close.nodes[0]->nb[3];
    now.nodes[0]->data = static_cast<uint8_t *>(now.nodes[0]->data) + (size_t{1} << 30);
    expect(cache.elsewhere(now.graph, encoded, positions) == nullptr, "a place outside the buffer");

    Sample shorter(buffer, 5);
    ggml_graph_clear(shorter.graph);
    ggml_graph_add_node(shorter.graph, shorter.nodes[0]);
    expect(cache.elsewhere(shorter.graph, encoded, positions) == nullptr, "a graph of one node");
}

// What another graph computes is not followed further, and what this one computes is. Nothing is followed into another buffer, or none.
void boundaries(Run &run, ggml_backend_buffer_t buffer) {
    EncodedGraph encoded;
    std::vector<uint32_t> positions;
    // One node reads what another graph computes, or what this one does: the two have all in common.
    auto part = [](Sample &sample, bool reads_own) {
        ggml_tensor *reader = sample.node_of(GGML_OP_SCALE);
        ggml_tensor *other = sample.placed(ggml_scale(sample.context.get(), sample.leaves[0], 1.0F));
        ggml_tensor *own = ggml_scale(sample.context.get(), sample.leaves[0], 1.0F);
        ggml_backend_tensor_alloc(sample.buffer, own, other->data);
        reader->src[0] = reads_own ? own : other;
        ggml_graph_clear(sample.graph);
        for (ggml_tensor *node : {own, reader}) ggml_graph_add_node(sample.graph, node);
    };
    for (bool then : {false, true}) {
        GraphCache cache;
        Sample first(buffer, 3);
        part(first, then);
        cache.add(KeptGraph(first.graph, first.encoded(), 1), 1);
        expect(cache.same(first.graph) != nullptr, "a part of a graph, in its place");
        for (bool now : {false, true}) {
            Sample second(buffer, 3);
            part(second, now);
            const bool found = cache.elsewhere(second.graph, encoded, positions) != nullptr;
            expect(found == (now == then), std::string("a part of a graph that read ") + (then ? "its own" : "another's") + " and now reads " +
                                               (now ? "its own" : "another's"));
        }
    }

    // A node without an operation may have sources, which are told.
    auto idle = [](Sample &sample, size_t source) {
        ggml_tensor *node = sample.node_of(GGML_OP_SCALE);
        node->op = GGML_OP_NONE;
        node->src[0] = sample.leaves[source];
    };
    GraphCache without_operation;
    Sample tenth(buffer, 4);
    idle(tenth, 0);
    without_operation.add(KeptGraph(tenth.graph, tenth.encoded(), 1), 1);
    for (size_t source : {0, 1}) {
        Sample eleventh(buffer, 4);
        idle(eleventh, source);
        const bool found = without_operation.elsewhere(eleventh.graph, encoded, positions) != nullptr;
        expect(found == (source == 0), "a node without an operation, its source " + std::to_string(source));
    }

    GraphCache other;
    Sample third(buffer, 4);
    other.add(KeptGraph(third.graph, third.encoded(), 1), 1);
    Buffer another = run.buffer(1 << 16);
    Sample fourth(another.get(), 4);
    expect(other.elsewhere(fourth.graph, encoded, positions) == nullptr, "a graph in another buffer");

    // A buffer of then may be gone: nothing is asked of it.
    auto in_two_buffers = [](Sample &sample, ggml_backend_buffer_t second) {
        sample.leaves[0]->buffer = second;
        sample.leaves[0]->data = ggml_backend_buffer_get_base(second);
        for (ggml_tensor *node : sample.nodes)
            if (node->view_src == sample.leaves[0]) node->data = sample.leaves[0]->data;
    };
    GraphCache gone;
    Sample eighth(buffer, 4);
    in_two_buffers(eighth, another.get());
    gone.add(KeptGraph(eighth.graph, eighth.encoded(), 1), 1);
    another.reset();
    Sample ninth(buffer, 4);
    expect(gone.elsewhere(ninth.graph, encoded, positions) == nullptr, "a graph that was in two buffers, one of which is no more");

    // Nothing to be had from no buffer: that was allowed while it had no elements.
    auto empty = [](Sample &sample, int64_t elements) {
        ggml_tensor *leaf = sample.leaves[0];
        leaf->buffer = nullptr;
        leaf->data = nullptr;
        leaf->ne[0] = elements;
        for (ggml_tensor *node : sample.nodes)
            if (node->view_src == leaf) node->view_src = sample.leaves[1];
    };
    GraphCache last;
    Sample fifth(buffer, 6);
    empty(fifth, 0);
    last.add(KeptGraph(fifth.graph, fifth.encoded(), 1), 1);
    Sample sixth(buffer, 6);
    empty(sixth, 0);
    expect(last.elsewhere(sixth.graph, encoded, positions) != nullptr && positions.empty(), "a tensor of nothing");
    Sample seventh(buffer, 6);
    empty(seventh, numbers);
    expect(last.elsewhere(seventh.graph, encoded, positions) == nullptr, "a tensor that has become something, in no buffer");
}

// A buffer that came to lie at another one's address is another one. Whether one does is the allocator's affair: most often it does,
// and with sanitizers never.
void buffer_in_anothers_place() {
    Variable no_pool("GGML_VIRTGPU_BUFFER_POOL_MIB", "0");
    Run run("all");
    ggml_backend_buffer_t then = ggml_backend_buft_alloc_buffer(run.buft(), 1 << 16);
    const auto *base = static_cast<const uint8_t *>(ggml_backend_buffer_get_base(then));
    Sample first(then, 10);
    GraphCache cache;
    cache.add(KeptGraph(first.graph, first.encoded(), 1), 1);
    ggml_backend_buffer_free(then);
    std::vector<Buffer> others;
    while (others.size() < 50 && (others.empty() || others.back().get() != then)) others.push_back(run.buffer(1 << 16));
    ggml_backend_buffer_t now = others.back().get();
    std::printf("a buffer was %sgiven another one's address\n", now == then ? "" : "not ");
    if (now != then) return;
    expect(cache.same(first.graph) == nullptr, "the very same graph, in a buffer that took another's place");
    Sample second(now, 10);
    const ptrdiff_t apart = base - static_cast<const uint8_t *>(ggml_backend_buffer_get_base(now));
    for (auto *tensors : {&second.leaves, &second.nodes})
        for (ggml_tensor *tensor : *tensors) tensor->data = static_cast<uint8_t *>(tensor->data) + apart;
    EncodedGraph encoded;
    std::vector<uint32_t> positions;
    expect(cache.elsewhere(second.graph, encoded, positions) == nullptr, "a graph in a buffer that took another's place");
}

// A host of 0.2 may give a freed buffer's handle to the next one, as the allocator gives its address. Here both buffers live, and the second one is put in the
// first one's place.
void buffer_with_anothers_handle() {
    Variable no_extensions("GGML_VIRTGPU_EXTENSIONS", "none");
    Variable path("GGML_VIRTGPU_DATA_PATH", "copied");
    ScriptedHost host;
    host.script(Call::buffer_type_alloc_buffer, [](Reader &, Writer &writer) {
        write(writer, BufferTypeAllocBufferReply{1});
        return ScriptedHost::ok;
    });
    host.script(Call::buffer_get_base, [base = uint64_t{1} << 32](Reader &, Writer &writer) mutable {
        write(writer, BufferGetBaseReply{base});
        base -= alignment;
        return ScriptedHost::ok;
    });
    CapturedLog log; // of the second one's end, which the host refuses
    Bench bench(host);
    Buffer then = bench.buffer(1 << 16);
    Buffer now = bench.buffer(1 << 16);
    Sample first(then.get(), 10);
    Sample second(then.get(), 10);
    GraphCache cache;
    cache.add(KeptGraph(first.graph, first.encoded(), 1), 1);
    expect(cache.same(first.graph) != nullptr, "a graph in a host's buffer");
    std::swap(then->context, now->context);
    expect(cache.same(first.graph) == nullptr, "the very same graph, in a buffer with another's handle");
    EncodedGraph encoded;
    std::vector<uint32_t> positions;
    expect(cache.elsewhere(second.graph, encoded, positions) == nullptr, "a graph in a buffer with another's handle");
}

// Two tensors that had all in common and are one now are told, and so is one that is two.
void twins(ggml_backend_buffer_t buffer) {
    auto sum = [&](bool of_two) {
        Sample sample(buffer, 8);
        ggml_graph_clear(sample.graph);
        ggml_tensor *leaf = sample.leaves[0];
        ggml_tensor *twin = ggml_dup_tensor(sample.context.get(), leaf);
        ggml_set_name(twin, leaf->name);
        twin->data = leaf->data;
        twin->buffer = leaf->buffer;
        ggml_graph_add_node(sample.graph, sample.placed(ggml_add(sample.context.get(), leaf, of_two ? twin : leaf)));
        return sample;
    };
    for (bool of_two : {true, false}) {
        Sample first = sum(of_two);
        GraphCache cache;
        cache.add(KeptGraph(first.graph, first.encoded(), 1), 1);
        EncodedGraph encoded;
        std::vector<uint32_t> positions;
        Sample second = sum(!of_two);
        expect(cache.elsewhere(second.graph, encoded, positions) == nullptr, of_two ? "two that are one now" : "one that is two now");
    }
}

// What is listed twice is looked at once: it must be the same both times.
void node_twice(ggml_backend_buffer_t buffer) {
    auto listed = [&](size_t second) {
        Sample sample(buffer, 9);
        ggml_graph_add_node(sample.graph, sample.nodes[second]);
        return sample;
    };
    Sample first = listed(0);
    GraphCache cache;
    cache.add(KeptGraph(first.graph, first.encoded(), 1), 1);
    EncodedGraph encoded;
    std::vector<uint32_t> positions;
    Sample same = listed(0);
    expect(cache.elsewhere(same.graph, encoded, positions) != nullptr && positions.empty(), "a node twice, as before");
    Sample another = listed(1);
    expect(cache.elsewhere(another.graph, encoded, positions) == nullptr, "another node in the second place");
}

// The results of a graph that was built again, with what differs, are those of now.
void computed(const char *extensions) {
    Run run(extensions);
    Buffer buffer = run.buffer(1 << 16);
    std::vector<Context> contexts; // none in another one's place
    auto result = [&](float first, float second, bool swapped) {
        contexts.push_back(guest::test::context());
        const Context &context = contexts.back();
        ggml_tensor *a = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 16);
        ggml_tensor *b = ggml_new_tensor_1d(context.get(), GGML_TYPE_F32, 16);
        ggml_tensor *left = ggml_scale(context.get(), a, first);
        ggml_tensor *right = ggml_scale(context.get(), b, second);
        ggml_tensor *out = ggml_sub(context.get(), swapped ? right : left, swapped ? left : right);
        ggml_cgraph *graph = ggml_new_graph(context.get());
        for (ggml_tensor *node : {left, right, out}) {
            node->flags |= GGML_TENSOR_FLAG_COMPUTE;
            ggml_graph_add_node(graph, node);
        }
        auto *base = static_cast<uint8_t *>(ggml_backend_buffer_get_base(buffer.get()));
        size_t at = 0;
        for (ggml_tensor *tensor : {a, b, left, right, out}) ggml_backend_tensor_alloc(buffer.get(), tensor, base + alignment * at++);
        const std::vector<float> tens(16, 10.0F);
        const std::vector<float> ones(16, 1.0F);
        ggml_backend_tensor_set(a, tens.data(), 0, tensor_bytes);
        ggml_backend_tensor_set(b, ones.data(), 0, tensor_bytes);
        expect(ggml_backend_graph_compute(run.backend.get(), graph) == GGML_STATUS_SUCCESS, "a graph built again");
        float last = 0;
        ggml_backend_tensor_get(out, &last, tensor_bytes - sizeof last, sizeof last);
        return last;
    };
    for (int round = 0; round < 3; ++round) {
        expect(result(1, 1, false) == 9, "the first");
        expect(result(1, 1, false) == 9, "the same");
        expect(result(2, 1, false) == 19, "another parameter");
        expect(result(2, 3, true) == -17, "sources in each other's place");
    }
}

// Built again with other names for all that is computed, which encoded records would differ in.
void by_number(const char *extensions) {
    Run run(extensions);
    Buffer buffer = run.buffer(1 << 16);
    std::vector<std::unique_ptr<Sample>> samples; // none in another one's place
    for (const char *names : {"these ", "those "}) {
        samples.push_back(std::make_unique<Sample>(buffer.get(), 11, names));
        run.records.fresh();
        expect(ggml_backend_graph_compute(run.backend.get(), samples.back()->graph) == GGML_STATUS_SUCCESS, "a graph with other names");
        const bool first = std::string(names) == "these ";
        expect_calls(run, {{Call::graph_keep, first ? 1 : 0}, {Call::graph_run, first ? 0 : 1}}, std::string("nodes called ") + names);
    }
    Sample changed(buffer.get(), 11, "some ");
    changed.node_of(GGML_OP_SCALE)->op_params[0] ^= 1 << 22;
    run.records.fresh();
    expect(ggml_backend_graph_compute(run.backend.get(), changed.graph) == GGML_STATUS_SUCCESS, "a graph with another parameter");
    expect_calls(run, {{Call::graph_keep, 0}, {Call::graph_patch, 1}}, "another parameter and other names");

    // A change that the host refuses leaves its graph in doubt: the next one goes as a whole.
    Sample refused(buffer.get(), 11);
    refused.read(GGML_OP_NONE)->ne[0] -= 1;
    run.records.fresh();
    expect(ggml_backend_graph_compute(run.backend.get(), refused.graph) == GGML_STATUS_FAILED, "tensors that do not fit each other");
    expect_calls(run, {{Call::graph_keep, 0}, {Call::graph_patch, 1}}, "a change that is refused");
    Sample again(buffer.get(), 11);
    run.records.fresh();
    expect(ggml_backend_graph_compute(run.backend.get(), again.graph) == GGML_STATUS_SUCCESS, "the graph behind it");
    expect_calls(run, {{Call::graph_keep, 1}, {Call::graph_patch, 0}, {Call::graph_run, 0}}, "the graph behind it");
}

} // namespace

int main(int count, char **arguments) {
    if (!use_libraries(count, arguments)) return 2;
    {
        Run run("all");
        Buffer buffer = run.buffer(1 << 16);
        graphs_elsewhere(buffer.get());
        choice(buffer.get());
        boundaries(run, buffer.get());
        twins(buffer.get());
        node_twice(buffer.get());
    }
    buffer_in_anothers_place();
    buffer_with_anothers_handle();
    for (const char *extensions : {"graph_ids", "graph_ids,batch"}) by_number(extensions);
    for (const char *extensions : {"all", "none", "asynchronous", "graph_ids"}) computed(extensions);
    return failures();
}
