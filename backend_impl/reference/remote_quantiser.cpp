#include "remote_quantiser.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "quantiser.hpp"

namespace apir::reference {
namespace {

constexpr int64_t worth_elements = 1024; // an emulated guest quantises so many in a millisecond or more
constexpr size_t tensors = 4;
constexpr size_t nodes = 4;

struct Free {
    void operator()(ggml_context *context) const { ggml_free(context); }
    void operator()(ggml_backend_buffer_t buffer) const { ggml_backend_buffer_free(buffer); }
};
template <typename Thing> using Owned = std::unique_ptr<Thing, Free>;

} // namespace

bool has_tables(ggml_type type) {
    switch (type) {
    case GGML_TYPE_IQ1_S:
    case GGML_TYPE_IQ1_M:
    case GGML_TYPE_IQ2_XXS:
    case GGML_TYPE_IQ2_XS:
    case GGML_TYPE_IQ2_S:
    case GGML_TYPE_IQ3_XXS:
    case GGML_TYPE_IQ3_S: return true;
    default: return false;
    }
}

size_t Chunk::size() const { return static_cast<size_t>(rows) * ggml_row_size(type, row_elements); }

void *Chunk::at_start() const {
    return static_cast<uint8_t *>(to) + static_cast<size_t>(start / row_elements) * ggml_row_size(type, row_elements);
}

bool RemoteQuantiser::is_for(const Chunk &chunk) const {
    if ((!ggml_is_quantized(chunk.type) && chunk.type != GGML_TYPE_F16) || chunk.elements() == 0) return false;
    if (chunk.elements() < worth_elements && !has_tables(chunk.type)) return false;
    return chunk.importance == nullptr ||
           std::all_of(chunk.importance, chunk.importance + chunk.row_elements, [](float each) { return each == 1.0F; });
}

void RemoteQuantiser::quantise(const Chunk &chunk) {
    std::lock_guard lock(mutex_);
    size_t size = tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(nodes, false);
    Owned<ggml_context> context(ggml_init({size, nullptr, true}));
    if (context == nullptr) throw std::runtime_error("no memory");
    ggml_tensor *from = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, chunk.row_elements, chunk.rows);
    ggml_tensor *to = ggml_new_tensor_2d(context.get(), chunk.type, chunk.row_elements, chunk.rows);
    ggml_tensor *copy = ggml_cpy(context.get(), from, to);
    copy->op_params[0] = chunk.importance == nullptr ? without_importance : importance_of_one;
    ggml_cgraph *graph = ggml_new_graph_custom(context.get(), nodes, false);
    ggml_build_forward_expand(graph, copy);
    Owned<ggml_backend_buffer> buffer(ggml_backend_alloc_ctx_tensors(context.get(), backend_));
    if (buffer == nullptr) throw std::runtime_error("the host has no memory for it");
    ggml_backend_tensor_set(from, chunk.from + chunk.start, 0, ggml_nbytes(from));
    if (ggml_backend_graph_compute(backend_, graph) != GGML_STATUS_SUCCESS) throw std::runtime_error("the host did not compute it");
    ggml_backend_tensor_get(to, chunk.at_start(), 0, chunk.size());
}

} // namespace apir::reference
