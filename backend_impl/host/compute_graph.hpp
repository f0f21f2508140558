// A graph of the guest's, decoded, checked and rebuilt as ggml's.
//
// Only the nodes keep their op and sources. Every other tensor that the guest lists is data to the host: it is computed
// elsewhere or not at all, so what made it is of no use here, and without sources it cannot be part of a cycle.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <apir_gen.hpp>
#include <ggml-backend.h>

#include "buffers.hpp"
#include "id_index.hpp"

namespace apir::host {

// Bytes of a graph: room for 200,000 tensors, where the largest models have some thousands.
inline constexpr uint64_t max_graph_bytes = uint64_t{64} << 20;

// Puts a filled tensor to where the record says that its data is; throws Refusal when `reach` bytes from there leave the buffer.
void place(ggml_tensor &tensor, uint64_t data, const Buffer &buffer, uint64_t reach);

class GraphBuilder {
  public:
    GraphBuilder();

    // The graph in `bytes`, ready to compute on `device`, or nullptr when it has no node. It is valid until the next call.
    // Throws Refusal when it is none, or has an op that the device cannot compute.
    ggml_cgraph *build(const void *bytes, uint64_t size, BufferTable &buffers, ggml_backend_dev_t device);

  private:
    void decode(const void *bytes, uint64_t size);
    void fill_tensors(BufferTable &buffers);
    void order_nodes();
    void link_views();
    void link_node(size_t index);
    void check_node(size_t index, ggml_backend_dev_t device) const;
    ggml_cgraph *assemble();

    struct FreeContext {
        void operator()(ggml_context *context) const { ggml_free(context); }
    };
    struct FreeMemory {
        void operator()(void *memory) const { std::free(memory); }
    };

    // Kept from graph to graph for their memory.
    std::vector<uint8_t> bytes_;
    Graph graph_;
    IdIndex index_;
    std::vector<ggml_tensor> tensors_; // by record
    std::vector<uint32_t> order_; // by record: position among the nodes plus 1; 0: no node
    std::vector<uint32_t> nodes_; // record of each node
    std::unique_ptr<void, FreeMemory> pool_; // of the graph's ggml_context
    size_t pool_size_ = 0;
    std::unique_ptr<ggml_context, FreeContext> context_; // behind pool_: freed before it
};

} // namespace apir::host
