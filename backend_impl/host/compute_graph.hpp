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
        Reader reader = copied(bytes, size);
        read_nodes(reader);
        uint32_t count = reader.count(Record::wire_size);
        start_tensors(count);
        Record record;
        for (uint32_t i = 0; i < count && read(reader, record); ++i) {
            links_[i] = links_of(record);
            fill(tensors_[i], record);
        }
        if (reader.failed()) refuse("a graph that ends before its end");
        return ids_.empty() ? nullptr : link_all(buffers, device);
    }

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

    Reader copied(const void *bytes, uint64_t size);
    void read_nodes(Reader &reader);
    void start_tensors(size_t count);
    ggml_cgraph *link_all(BufferTable &buffers, ggml_backend_dev_t device);
    void place_tensors(BufferTable &buffers);
    void order_nodes();
    void link_views();
    void link_node(size_t index);
    void check_node(size_t index, ggml_backend_dev_t device);
    void check_memory(const ggml_tensor &tensor, ggml_backend_dev_t device);
    ggml_cgraph *assemble();

    struct FreeContext {
        void operator()(ggml_context *context) const { ggml_free(context); }
    };
    struct FreeMemory {
        void operator()(void *memory) const { std::free(memory); }
    };

    // Kept from graph to graph for their memory.
    std::vector<uint8_t> bytes_;
    std::vector<uint64_t> ids_; // of the nodes
    IdIndex index_;
    std::vector<Links> links_; // by record
    std::vector<ggml_tensor> tensors_; // by record
    std::vector<uint32_t> order_; // by record: position among the nodes plus 1; 0: no node
    std::vector<uint32_t> nodes_; // record of each node
    // The last pair of which the device said that it can use the buffers.
    ggml_backend_dev_t user_ = nullptr;
    ggml_backend_buffer_type_t usable_ = nullptr;
    std::unique_ptr<void, FreeMemory> pool_; // of the graph's ggml_context
    size_t pool_size_ = 0;
    std::unique_ptr<ggml_context, FreeContext> context_; // behind pool_: freed before it
};

} // namespace apir::host
