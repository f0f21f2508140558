// A graph of the guest's, decoded, checked and rebuilt as ggml's.
//
// Only the nodes keep their op and sources. Every other tensor that the guest lists is data to the host: it is computed
// elsewhere or not at all, so what made it is of no use here, and without sources it cannot be part of a cycle.
//
// How often a node's result is used (ggml's use counts, by which some backends decide what to fuse) is no part of any public
// interface of ggml's: the rebuilt graph has none, and such backends then compute node by node.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <apir_gen.hpp>
#include <ggml-backend.h>

#include "buffers.hpp"
#include "id_index.hpp"
#include "refusal.hpp"
#include "tensor_check.hpp"

namespace apir::host {

// Bytes of a graph: room for 200,000 tensors, where the largest models have some thousands.
inline constexpr uint64_t max_graph_bytes = uint64_t{64} << 20;

// Puts a filled tensor to where the record says that its data is; throws Refusal when `reach` bytes from there leave the buffer.
void place(ggml_tensor &tensor, uint64_t data, const Buffer &buffer, uint64_t reach);

class GraphBuilder {
  public:
    GraphBuilder();

    // The graph in `bytes`, with records of the given kind, ready to compute on `device`, or nullptr when it has no node. It is valid until the next call.
    // Throws Refusal when it is none, or has an op that the device cannot compute.
    template <typename Record>
    ggml_cgraph *build(const void *bytes, uint64_t size, BufferTable &buffers, ggml_backend_dev_t device) {
        const Built asked{device, Record::wire_size};
        if (is_same(bytes, size, asked)) return graph_;
        copy(bytes, size);
        graph_ = decode<Record>(buffers, device);
        built_ = asked;
        return graph_;
    }

    // The graph of the last build() is as good as built again when its bytes come again: it was computed, and all that it refers to is still there.
    void trust() { trusted_ = true; }
    // No more: something that it may refer to is about to end.
    void distrust() { trusted_ = false; }

    // The graph of the last build() with some records changed, checked as a whole once more. After a Refusal there is no graph.
    template <typename Record, typename Changes>
    ggml_cgraph *patch(const Changes &changes, BufferTable &buffers, ggml_backend_dev_t device) {
        if (changes.positions.size() != changes.tensors.size()) refuse("changes of %zu places by %zu tensors", changes.positions.size(), changes.tensors.size());
        for (size_t i = 0; i < changes.positions.size(); ++i) {
            uint32_t position = changes.positions[i];
            if (position >= links_.size()) refuse("tensor %u of %zu is changed", position, links_.size());
            if (changes.tensors[i].id != links_[position].id) refuse("a change of tensor %u's id", position);
            Writer writer(bytes_.data() + records_at_ + position * Record::wire_size, Record::wire_size);
            write(writer, changes.tensors[i]);
        }
        return decode<Record>(buffers, device);
    }

    // Handles of the buffers that the graph refers to, each once.
    std::vector<uint64_t> buffers_used() const;
    // Memory that it takes, about.
    size_t footprint() const;

  private:
    // What a record says of its tensor's place among the others.
    struct Links {
        uint64_t id, buffer, data, view_src, view_offs;
        uint64_t src[max_sources];
    };
    template <typename Record> static Links links_of(const Record &record) {
        Links links{record.id, record.buffer, record.data, record.view_src, record.view_offs, {}};
        static_assert(sizeof links.src == sizeof record.src);
        std::memcpy(links.src, record.src, sizeof links.src);
        return links;
    }

    template <typename Record> ggml_cgraph *decode(BufferTable &buffers, ggml_backend_dev_t device) {
        Reader reader(bytes_.data(), bytes_.size());
        read_nodes(reader);
        uint32_t count = reader.count(Record::wire_size);
        records_at_ = reader.offset();
        start_tensors(count);
        Record record;
        for (uint32_t i = 0; i < count && read(reader, record); ++i) {
            links_[i] = links_of(record);
            fill(tensors_[i], record);
        }
        if (reader.failed()) refuse("a graph that ends before its end");
        return ids_.empty() ? nullptr : link_all(buffers, device);
    }

    // What a graph is built for, besides its bytes.
    struct Built {
        ggml_backend_dev_t device = nullptr;
        size_t record_size = 0;
    };

    // Whether it is the graph that is there, and may be used again. What comes next is not trusted before somebody says so.
    bool is_same(const void *bytes, uint64_t size, const Built &asked);
    void copy(const void *bytes, uint64_t size);
    void read_nodes(Reader &reader);
    void start_tensors(size_t count);
    ggml_cgraph *link_all(BufferTable &buffers, ggml_backend_dev_t device);
    void place_tensors(BufferTable &buffers);
    void order_nodes();
    void link_views();
    void link_node(size_t index);
    static void check_room(const ggml_tensor &tensor);
    void check_packed(const ggml_tensor &tensor);
    void check_node(size_t index, ggml_backend_dev_t device);
    void check_memory(const ggml_tensor &tensor, ggml_backend_dev_t device);
    ggml_cgraph *assemble();

    struct FreeContext {
        void operator()(ggml_context *context) const { ggml_free(context); }
    };
    struct FreeMemory {
        void operator()(void *memory) const { std::free(memory); }
    };

    bool trusted_ = false;
    ggml_cgraph *graph_ = nullptr; // of the last build()
    Built built_;
    // Kept from graph to graph for their memory.
    std::vector<uint8_t> bytes_;
    size_t records_at_ = 0; // in bytes_
    std::vector<uint64_t> ids_; // of the nodes
    IdIndex index_;
    std::vector<Links> links_; // by record
    std::vector<ggml_tensor> tensors_; // by record
    std::vector<uint32_t> order_; // by record: first position among the nodes plus 1; 0: no node
    std::vector<uint32_t> nodes_; // record of each node
    std::vector<uint32_t> distinct_; // the same, each once
    // The last pair of which the device said that it can use the buffers.
    ggml_backend_dev_t user_ = nullptr;
    ggml_backend_buffer_type_t usable_ = nullptr;
    std::unique_ptr<void, FreeMemory> pool_; // of the graph's ggml_context
    size_t pool_size_ = 0;
    std::unique_ptr<ggml_context, FreeContext> context_; // behind pool_: freed before it
};

} // namespace apir::host
