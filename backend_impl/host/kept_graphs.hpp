// Graphs that the host keeps for its guest, decoded and checked, to be computed again by their number (extension graph_ids).
//
// A kept graph holds addresses of the buffers it refers to: with the first of them that is freed it ends. Nothing is pushed out
// by a newer graph, so that a guest which has calls on their way can rely on its numbers; what has no room is not kept.
#pragma once

#include <cstdint>
#include <memory>

#include "compute_graph.hpp"
#include "handles.hpp"

namespace apir::host {

struct KeptGraph {
    std::unique_ptr<GraphBuilder> builder; // owns what `graph` points to
    ggml_cgraph *graph = nullptr;
    ggml_backend_dev_t device = nullptr; // that it was checked for
    bool wide = false;
    std::vector<uint64_t> buffers; // handles, sorted
};

class KeptGraphs {
  public:
    // More than the streams of one program have use for; bounds what a guest can make the host remember.
    static constexpr size_t max_graphs = 64;
    static constexpr size_t max_bytes = size_t{256} << 20;

    // A builder that holds no kept graph, with the memory of an ended one where there is such.
    std::unique_ptr<GraphBuilder> builder();
    // Takes back one whose graph is not kept.
    void give_back(std::unique_ptr<GraphBuilder> builder) { spare_ = std::move(builder); }

    // The number of the graph from now on; 0, and `graph` as it was, when there is no room.
    uint64_t keep(KeptGraph &graph);
    // nullptr for a number of none.
    KeptGraph *find(uint64_t number) { return graphs_.find(number); }
    // To be called when its builder has built anew: sizes and buffers may be others.
    void refresh(KeptGraph &graph);
    void drop(uint64_t number);
    // Ends all that refer to it.
    void on_buffer_freed(uint64_t buffer);
    size_t size() const { return graphs_.size(); }

  private:
    HandleTable<KeptGraph, HandleKind::graph> graphs_;
    std::unique_ptr<GraphBuilder> spare_;
};

} // namespace apir::host
