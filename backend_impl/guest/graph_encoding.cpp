#include "graph_encoding.hpp"

#include <algorithm>
#include <type_traits>

#include "tensor_encoding.hpp"

namespace apir::guest {

namespace {

std::string described(const ggml_tensor *tensor) {
    return std::string(ggml_op_name(tensor->op)) + " '" + std::string(tensor->name, strnlen(tensor->name, sizeof tensor->name)) +
           "'";
}

// Tensors of size 0 have no buffer and need none.
bool reachable_by_host(const ggml_tensor *tensor) { return own_buffer(tensor) != nullptr || ggml_is_empty(tensor); }

// What is known of a tensor while a graph is encoded.
struct Place {
    uint64_t id = 0; // 0: not met yet
    bool node = false;
};

// Places by tensor, in one piece of memory: who encodes asks several times per tensor, and with a map that has a node for each a graph of 1000
// nodes took 1.3 to 1.6 times as long, under an emulator.
class Places {
  public:
    // For twice as many tensors as `nodes`, before it has to grow.
    explicit Places(size_t nodes) {
        while (entries_.size() < 4 * nodes) grow();
    }

    // Valid until the next call.
    Place &of(const ggml_tensor *tensor) {
        Entry *entry = find(tensor);
        if (entry->tensor == nullptr) {
            if (2 * used_ >= entries_.size()) {
                grow();
                entry = find(tensor);
            }
            ++used_;
            entry->tensor = tensor;
        }
        return entry->place;
    }

  private:
    struct Entry {
        const ggml_tensor *tensor = nullptr;
        Place place;
    };

    // Where it is, or where it would be.
    Entry *find(const ggml_tensor *tensor) {
        const size_t mask = entries_.size() - 1;
        // The upper bits of the product depend on all of the address.
        size_t at = (reinterpret_cast<uintptr_t>(tensor) * UINT64_C(0x9e3779b97f4a7c15)) >> shift_;
        while (entries_[at].tensor != nullptr && entries_[at].tensor != tensor) at = (at + 1) & mask;
        return &entries_[at];
    }

    void grow() {
        std::vector<Entry> old(2 * entries_.size());
        old.swap(entries_);
        --shift_;
        for (const Entry &each : old)
            if (each.tensor != nullptr) *find(each.tensor) = each;
    }

    std::vector<Entry> entries_{16}; // a power of two of them, at most half of them used
    int shift_ = 60; // of 64 bits, those that number an entry are left
    size_t used_ = 0;
};

template <typename Message> class Encoder {
    using Record = typename decltype(Message::tensors)::value_type;

  public:
    Encoder(Message &encoded, std::vector<const ggml_tensor *> &order, std::string &error, size_t nodes)
        : encoded_(encoded), order_(order), error_(error), places_(nodes) {
        encoded_.nodes.reserve(nodes);
        encoded_.tensors.reserve(nodes + nodes / 2);
        order_.reserve(nodes + nodes / 2);
    }

    // Of every node before any is added: a tensor's sources go along only if it is computed here.
    void expect_node(const ggml_tensor *node) { places_.of(node).node = true; }

    bool add_node(const ggml_tensor *node) {
        if (!check_memory(node)) return false;
        encoded_.nodes.push_back(id_of(node));
        return drain();
    }

  private:
    // A node that is computed needs itself and its sources on the host; others are only described.
    bool check_memory(const ggml_tensor *node) {
        if (only_a_view(node) || (node->flags & GGML_TENSOR_FLAG_COMPUTE) == 0) return true;
        if (calls_program(node)) return fail(node, "is a function of the program, which no host can call");
        if (!reachable_by_host(node)) return fail(node, "is not in a buffer of this device");
        for (const ggml_tensor *source : node->src) {
            if (source != nullptr && !reachable_by_host(source)) {
                return fail(node, ("reads " + described(source) + ", which is not in a buffer of this device").c_str());
            }
        }
        return true;
    }

    uint64_t id_of(const ggml_tensor *tensor) {
        if (tensor == nullptr) return 0;
        Place &place = places_.of(tensor);
        if (place.id == 0) {
            place.id = ++last_id_;
            pending_.push_back(tensor);
        }
        return place.id;
    }

    bool drain() {
        while (!pending_.empty()) {
            const ggml_tensor *tensor = pending_.back();
            pending_.pop_back();
            if (!add_record(tensor)) return false;
        }
        return true;
    }

    bool add_record(const ggml_tensor *tensor) {
        std::optional<Record> record = record_of<Record>(tensor);
        if (!record) {
            const bool inside = std::is_same_v<Message, WideGraph> || fits_record(tensor);
            const char *why = inside ? "lies outside its buffer" : "has a shape or stride beyond 32 bits";
            return fail(tensor, why);
        }
        const Place place = places_.of(tensor);
        record->id = place.id;
        if (!place.node) record->op = GGML_OP_NONE;
        for (size_t i = 0; place.node && i < max_sources; ++i) record->src[i] = id_of(tensor->src[i]);
        record->view_src = id_of(tensor->view_src);
        record->view_offs = tensor->view_offs;
        encoded_.tensors.push_back(*record);
        order_.push_back(tensor);
        return true;
    }

    bool fail(const ggml_tensor *tensor, const char *why) {
        error_ = described(tensor) + " " + why;
        return false;
    }

    Message &encoded_;
    std::vector<const ggml_tensor *> &order_;
    std::string &error_;
    Places places_;
    uint64_t last_id_ = 0;
    std::vector<const ggml_tensor *> pending_;
};

template <typename Message>
bool make_message(ggml_cgraph *graph, Message &encoded, std::vector<const ggml_tensor *> &order, std::string &error) {
    encoded = Message{};
    order.clear();
    const int count = ggml_graph_n_nodes(graph);
    Encoder<Message> encoder(encoded, order, error, static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) encoder.expect_node(ggml_graph_node(graph, i));
    for (int i = 0; i < count; ++i) {
        if (!encoder.add_node(ggml_graph_node(graph, i))) return false;
    }
    return true;
}

// Whether shapes and strides of all tensors that a graph's records are made of fit those of call 22.
bool graph_fits_records(ggml_cgraph *graph) {
    int count = ggml_graph_n_nodes(graph);
    for (int i = 0; i < count; ++i) {
        const ggml_tensor *node = ggml_graph_node(graph, i);
        if (!op_fits_records(node)) return false;
        for (const ggml_tensor *source : node->src)
            if (source != nullptr && source->view_src != nullptr && !fits_record(source->view_src)) return false;
    }
    return true;
}

template <typename Message> bool encode_as(ggml_cgraph *graph, EncodedGraph &encoded, std::string &error) {
    using Record = typename decltype(Message::tensors)::value_type;
    Message message;
    if (!make_message(graph, message, encoded.order, error)) return false;
    encoded.nodes.assign(message.nodes.begin(), message.nodes.end());
    encoded.links.resize(message.tensors.size());
    std::vector<bool> is_node(message.tensors.size() + 1);
    for (uint32_t id : encoded.nodes) is_node[id] = true;
    for (size_t i = 0; i < message.tensors.size(); ++i) {
        const Record &record = message.tensors[i];
        EncodedGraph::Links &links = encoded.links[i];
        links.id = static_cast<uint32_t>(record.id);
        links.op = record.op;
        links.node = is_node[links.id];
        links.view_source = static_cast<uint32_t>(record.view_src);
        std::copy(std::begin(record.src), std::end(record.src), links.sources.begin());
    }
    encoded.record_size = Record::wire_size;
    encoded.records_at = sizeof(uint32_t) + sizeof(uint64_t) * message.nodes.size() + sizeof(uint32_t);
    encoded.bytes.resize(encoded.records_at + encoded.record_size * message.tensors.size());
    Writer writer(encoded.bytes.data(), encoded.bytes.size());
    write(writer, message);
    return true;
}

} // namespace

bool only_a_view(const ggml_tensor *tensor) {
    return tensor->op == GGML_OP_NONE || tensor->op == GGML_OP_RESHAPE || tensor->op == GGML_OP_VIEW ||
           tensor->op == GGML_OP_PERMUTE || tensor->op == GGML_OP_TRANSPOSE;
}

bool encode_graph(ggml_cgraph *graph, bool may_be_wide, EncodedGraph &encoded, std::string &error) {
    encoded.wide = may_be_wide && !graph_fits_records(graph);
    return encoded.wide ? encode_as<WideGraph>(graph, encoded, error) : encode_as<Graph>(graph, encoded, error);
}

} // namespace apir::guest
