#include "kept_graphs.hpp"

#include <algorithm>

namespace apir::host {

std::unique_ptr<GraphBuilder> KeptGraphs::builder() {
    return spare_ != nullptr ? std::move(spare_) : std::make_unique<GraphBuilder>();
}

uint64_t KeptGraphs::keep(KeptGraph &graph) {
    size_t bytes = graph.builder->footprint();
    graphs_.each([&](uint64_t, const KeptGraph &kept) { bytes += kept.builder->footprint(); });
    if (graphs_.size() >= max_graphs || bytes > max_bytes) return 0;
    graph.buffers = graph.builder->buffers_used();
    return graphs_.add(std::move(graph));
}

void KeptGraphs::refresh(KeptGraph &graph) { graph.buffers = graph.builder->buffers_used(); }

void KeptGraphs::drop(uint64_t number) {
    KeptGraph *graph = graphs_.find(number);
    if (graph == nullptr) return;
    spare_ = std::move(graph->builder);
    graphs_.remove(number);
}

void KeptGraphs::on_buffer_freed(uint64_t buffer) {
    std::vector<uint64_t> ended;
    graphs_.each([&](uint64_t number, const KeptGraph &kept) {
        if (std::binary_search(kept.buffers.begin(), kept.buffers.end(), buffer)) ended.push_back(number);
    });
    for (uint64_t number : ended) drop(number);
}

} // namespace apir::host
