// Computation of graphs: sent whole, kept, or by number.
#include <cinttypes>
#include <cstdio>

#include "refusal.hpp"
#include "session.hpp"

namespace apir::host {

SharedRange Session::graph_data(uint32_t resource, uint64_t size) {
    if (size > max_graph_bytes) refuse("a graph of %" PRIu64 " bytes", size);
    return shared(resource, size);
}

int32_t Session::compute(ggml_cgraph *graph) {
    if (graph == nullptr) return static_cast<int32_t>(GraphStatus::ok);
    if (op_note_ != nullptr) std::snprintf(op_note_, op_note_size_, "%s", ggml_op_desc(ggml_graph_node(graph, -1)));
    library_.start_graph();
    try {
        return static_cast<int32_t>(guarded_.compute(library_.backend(device()), device().in_host_memory, graph));
    } catch (const InitFailure &failure) {
        refuse("%s", failure.text.c_str());
    } catch (const BackendThrew &) {
        library_.abandon(device());
        throw;
    }
}

// The very graph of the last time is computed again as it is: guests of protocol 0.2 send it for each token.
template <typename Record> int32_t Session::compute_whole(const SharedRange &bytes) {
    const int32_t status = compute(graphs_.build<Record>(bytes.data, bytes.size, buffers_, device().ggml));
    if (status == static_cast<int32_t>(GraphStatus::ok)) graphs_.trust();
    return status;
}

BackendGraphComputeReply Session::on_backend_graph_compute(const BackendGraphComputeRequest &request) {
    return {compute_whole<TensorRecord>(graph_data(request.resource, request.size))};
}

WideGraphComputeReply Session::on_wide_graph_compute(const WideGraphComputeRequest &request) {
    return {compute_whole<WideTensorRecord>(graph_data(request.resource, request.size))};
}

GraphKeepReply Session::on_graph_keep(const GraphKeepRequest &request) {
    for (uint64_t number : request.dropped) kept_graphs_.drop(number);
    SharedRange bytes = graph_data(request.resource, request.size);
    KeptGraph made;
    made.builder = kept_graphs_.builder();
    made.device = device().ggml;
    made.wide = request.wide;
    made.graph = made.wide ? made.builder->build<WideTensorRecord>(bytes.data, bytes.size, buffers_, made.device)
                           : made.builder->build<TensorRecord>(bytes.data, bytes.size, buffers_, made.device);
    int32_t status = compute(made.graph);
    uint64_t number = status == static_cast<int32_t>(GraphStatus::ok) ? kept_graphs_.keep(made) : 0;
    if (number == 0) kept_graphs_.give_back(std::move(made.builder));
    return {status, number};
}

// nullptr for one that is gone, which is no error. One of another device is: numbers are told to those who made them.
KeptGraph *Session::kept_graph(uint64_t number) {
    KeptGraph *kept = kept_graphs_.find(number);
    if (kept != nullptr && kept->device != device().ggml) refuse("graph %#" PRIx64 " was kept for another device", number);
    return kept;
}

GraphRunReply Session::on_graph_run(const GraphRunRequest &request) {
    KeptGraph *kept = kept_graph(request.graph);
    if (kept == nullptr) return {false, static_cast<int32_t>(GraphStatus::failed)};
    return {true, compute(kept->graph)};
}

template <typename Record, typename Changes> void Session::change(KeptGraph &kept, const SharedRange &range) {
    // What is checked is a copy, as with a whole graph.
    std::vector<uint8_t> bytes(range.data, range.data + range.size);
    Reader reader(bytes.data(), bytes.size());
    Changes changes;
    if (!read(reader, changes)) refuse("changes that end before their end");
    kept.graph = kept.builder->patch<Record>(changes, buffers_, device().ggml);
    kept_graphs_.refresh(kept);
}

GraphPatchReply Session::on_graph_patch(const GraphPatchRequest &request) {
    KeptGraph *kept = kept_graph(request.graph);
    if (kept == nullptr) return {false, static_cast<int32_t>(GraphStatus::failed)};
    try {
        SharedRange range = graph_data(request.resource, request.size);
        if (kept->wide) change<WideTensorRecord, WideGraphChanges>(*kept, range);
        else change<TensorRecord, GraphChanges>(*kept, range);
    } catch (...) {
        // Half changed, or not what the guest takes it for.
        kept_graphs_.drop(request.graph);
        throw;
    }
    return {true, compute(kept->graph)};
}

} // namespace apir::host
