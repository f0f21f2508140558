#include "graph.hpp"

#include <chrono>
#include <csignal>
#include <memory>
#include <thread>
#include <unistd.h>

#include "result.hpp"

namespace apir::liar {
namespace {

struct FreeContext {
    void operator()(ggml_context *context) const { ggml_free(context); }
};

bool has_result(const ggml_tensor &node) {
    switch (node.op) {
    case GGML_OP_NONE:
    case GGML_OP_VIEW:
    case GGML_OP_RESHAPE:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE: return false;
    default: return true;
    }
}

// Does what a lie does beside the result; true: the graph fails.
bool misbehave(const Lie &lie, Liar &liar) {
    switch (lie.kind) {
    case Kind::slow: std::this_thread::sleep_for(std::chrono::milliseconds(lie.amount)); break;
    case Kind::leak: liar.leak(lie.amount); break;
    case Kind::hang:
        for (;;) pause();
    case Kind::crash: std::raise(SIGSEGV); break;
    default: break;
    }
    return lie.kind == Kind::fail;
}

class LyingCompute {
  public:
    LyingCompute(ggml_backend_t backend, const Honest &honest, Liar &liar, ggml_cgraph *graph)
        : backend_(backend), honest_(honest), liar_(liar), graph_(graph), count_(ggml_graph_n_nodes(graph)) {}

    ggml_status run() {
        ggml_status status = GGML_STATUS_SUCCESS;
        for (int i = 0; i < count_ && status == GGML_STATUS_SUCCESS; ++i) {
            ggml_tensor &node = *ggml_graph_node(graph_, i);
            if (has_result(node)) status = take(i, node);
        }
        return status == GGML_STATUS_SUCCESS ? compute_to(count_) : status;
    }

  private:
    ggml_status take(int index, ggml_tensor &node) {
        std::vector<const Lie *> lies = liar_.due(node);
        const Lie *claim = liar_.of_kind(Kind::claim, node);
        if (claim != nullptr && !honest_.device->iface.supports_op(honest_.device, &node)) lies.push_back(claim);
        if (lies.empty()) return GGML_STATUS_SUCCESS;
        ggml_status status = compute_to(index);
        bool skipped = false;
        for (const Lie *lie : lies) {
            liar_.note(*lie, node);
            if (misbehave(*lie, liar_)) return GGML_STATUS_FAILED;
            skipped = skipped || lie->kind == Kind::stale || lie->kind == Kind::claim;
        }
        if (skipped) done_ = index + 1;
        else if (status == GGML_STATUS_SUCCESS) status = compute_to(index + 1);
        ggml_backend_synchronize(backend_); // before the result is touched
        for (const Lie *lie : lies)
            if (status == GGML_STATUS_SUCCESS && (lie->kind == Kind::flip || lie->kind == Kind::wrong)) spoil(node, *lie);
        return status;
    }

    // Computes what is not yet, up to a node that comes after; the whole graph as it is when nothing was lied about.
    ggml_status compute_to(int end) {
        int begin = done_;
        done_ = end;
        if (begin == 0 && end == count_) return honest_.compute(backend_, graph_);
        if (begin == end) return GGML_STATUS_SUCCESS;
        size_t nodes = static_cast<size_t>(end - begin);
        size_t size = ggml_graph_overhead_custom(nodes, false) + ggml_tensor_overhead();
        std::unique_ptr<ggml_context, FreeContext> context(ggml_init({size, nullptr, true}));
        if (context == nullptr) return GGML_STATUS_ALLOC_FAILED;
        ggml_cgraph *part = ggml_new_graph_custom(context.get(), nodes, false);
        for (int i = begin; i < end; ++i) ggml_graph_add_node(part, ggml_graph_node(graph_, i));
        ggml_status status = honest_.compute(backend_, part);
        ggml_backend_synchronize(backend_); // before the part of the graph goes
        return status;
    }

    ggml_backend_t backend_;
    const Honest &honest_;
    Liar &liar_;
    ggml_cgraph *graph_;
    int count_;
    int done_ = 0;
};

} // namespace

ggml_status compute_with_lies(ggml_backend_t backend, const Honest &honest, Liar &liar, ggml_cgraph *graph) {
    return LyingCompute(backend, honest, liar, graph).run();
}

} // namespace apir::liar
