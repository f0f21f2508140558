#include "compute_graph.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "cuda_layout.hpp"
#include "op_rules.hpp"
#include "refusal.hpp"
#include "tensor_check.hpp"
#include "vulkan_layout.hpp"

namespace apir::host {
namespace {

#if defined(APIR_UNCHECKED) // to measure what the checks cost (fuzz/check_cost.cpp)
constexpr bool checked = false;
#else
constexpr bool checked = true;
#endif

// What has no elements needs no memory, and ggml gives it none where it is all that a buffer would hold.
bool lies_nowhere(const ggml_tensor &tensor) { return tensor.buffer == nullptr && ggml_is_empty(&tensor); }

// So that backends find memory of theirs where they look at a source's place before they see that there is nothing.
void place_at(const ggml_tensor &node, ggml_tensor &nothing) {
    nothing.buffer = node.buffer;
    nothing.data = node.data;
    nothing.view_src = nullptr;
    nothing.view_offs = 0;
}

} // namespace

void place(ggml_tensor &tensor, uint64_t data, const Buffer &buffer, uint64_t reach) {
    if (checked && !within(data, reach, buffer.size))
        refuse("%" PRIu64 " bytes at %#" PRIx64 " of a buffer that has %" PRIu64, reach, data, buffer.size);
    tensor.buffer = buffer.ggml.get();
    tensor.data = buffer.base + data;
}

GraphBuilder::GraphBuilder() = default;

// The guest may write to the resource while it is compared: what is computed then is what was checked, and what each byte was when it was looked at.
bool GraphBuilder::is_same(const void *bytes, uint64_t size, const Built &asked) {
    const bool trusted = std::exchange(trusted_, false);
    return trusted && asked.device == built_.device && asked.record_size == built_.record_size && size == bytes_.size() &&
           std::memcmp(bytes, bytes_.data(), size) == 0;
}

// The guest may write to the resource while it is read: what is checked is a copy.
void GraphBuilder::copy(const void *bytes, uint64_t size) {
    const auto *from = static_cast<const uint8_t *>(bytes);
    bytes_.assign(from, from + size);
}

std::vector<uint64_t> GraphBuilder::buffers_used() const {
    std::vector<uint64_t> handles;
    for (const Links &links : links_) {
        bool last = !handles.empty() && handles.back() == links.buffer;
        if (links.buffer != 0 && !last) handles.push_back(links.buffer);
    }
    std::sort(handles.begin(), handles.end());
    handles.erase(std::unique(handles.begin(), handles.end()), handles.end());
    return handles;
}

size_t GraphBuilder::footprint() const {
    size_t per_tensor = sizeof(Links) + sizeof(ggml_tensor) + 4 * sizeof(uint64_t); // with their places in the tables
    return bytes_.capacity() + links_.capacity() * per_tensor + pool_size_;
}

void GraphBuilder::read_nodes(Reader &reader) {
    ids_.resize(reader.count(sizeof(uint64_t)));
    for (uint64_t &id : ids_) id = reader.u64();
}

void GraphBuilder::start_tensors(size_t count) {
    links_.resize(count);
    tensors_.assign(count, ggml_tensor{});
}

ggml_cgraph *GraphBuilder::link_all(BufferTable &buffers, ggml_backend_dev_t device) {
    place_tensors(buffers);
    order_nodes();
    link_views();
    for (uint32_t index : distinct_) link_node(index);
    // Backends keep what they need to know of a tensor in it; those that do not have no such function. Sources come before
    // their views in no order, so that this waits until all views are linked.
    for (ggml_tensor &tensor : tensors_) {
        if (checked) check_room(tensor);
        if (tensor.buffer != nullptr && ggml_backend_buffer_init_tensor(tensor.buffer, &tensor) != GGML_STATUS_SUCCESS)
            refuse("tensor '%s' cannot be initialised in its buffer", tensor.name);
    }
    if (checked)
        for (uint32_t index : distinct_) check_node(index, device);
    return assemble();
}

void GraphBuilder::place_tensors(BufferTable &buffers) {
    index_.reset(links_.size());
    uint64_t last_handle = 0;
    const Buffer *buffer = nullptr;
    for (size_t i = 0; i < links_.size(); ++i) {
        const Links &record = links_[i];
        if (!index_.add(record.id, static_cast<uint32_t>(i))) refuse("tensor id %#" PRIx64 " is 0 or occurs twice", record.id);
        uint64_t reach = extent_of(tensors_[i]).strided;
        if (record.buffer == 0) continue;
        if (record.buffer != last_handle) buffer = buffers.find(record.buffer);
        last_handle = record.buffer;
        if (buffer == nullptr) refuse("%#" PRIx64 " is no handle of a buffer", record.buffer);
        place(tensors_[i], record.data, *buffer, reach);
    }
}

void GraphBuilder::order_nodes() {
    order_.assign(tensors_.size(), 0);
    nodes_.clear();
    distinct_.clear();
    for (uint64_t id : ids_) {
        uint32_t index = index_.find(id);
        if (index == IdIndex::none) refuse("node %#" PRIx64 " is not among the tensors", id);
        nodes_.push_back(index);
        // A node may come again, as in test-backend-ops' measurements: then it is computed again. Its first place is its order.
        if (order_[index] != 0) continue;
        order_[index] = static_cast<uint32_t>(nodes_.size());
        distinct_.push_back(index);
    }
    for (size_t i = 0; i < tensors_.size(); ++i)
        if (order_[i] == 0) tensors_[i].op = GGML_OP_NONE;
}

void GraphBuilder::link_views() {
    for (size_t i = 0; i < tensors_.size(); ++i) {
        const Links &record = links_[i];
        if (record.view_src == 0) continue;
        uint32_t source = index_.find(record.view_src);
        if (source == IdIndex::none) refuse("view source %#" PRIx64 " is not among the tensors", record.view_src);
        // ggml itself lets every view look into the tensor that owns the data.
        if (links_[source].view_src != 0) refuse("a view of a view");
        tensors_[i].view_src = &tensors_[source];
        tensors_[i].view_offs = record.view_offs;
        if (tensors_[i].buffer == nullptr) continue;
        // Some backends use the one address, some the other: they have to agree.
        const auto *expected = static_cast<const uint8_t *>(tensors_[source].data);
        if (tensors_[i].buffer != tensors_[source].buffer || record.view_offs > max_extent ||
            tensors_[i].data != expected + record.view_offs)
            refuse("view '%s' is not where it looks", tensors_[i].name);
    }
}

void GraphBuilder::link_node(size_t index) {
    const Links &record = links_[index];
    for (size_t i = 0; i < max_sources; ++i) {
        if (record.src[i] == 0) continue;
        uint32_t source = index_.find(record.src[i]);
        if (source == IdIndex::none) refuse("source %#" PRIx64 " is not among the tensors", record.src[i]);
        // A source that is computed here is computed before: so there is no cycle, whatever else the guest says. Only a
        // copy may name itself: ggml_cast makes it its own second source, which is where it writes.
        bool copies_to_itself = source == index && i == 1 && tensors_[index].op == GGML_OP_CPY;
        if (order_[source] != 0 && order_[source] >= order_[index] && !copies_to_itself)
            refuse("node '%s' comes before its source", tensors_[index].name);
        tensors_[index].src[i] = &tensors_[source];
    }
    complete_cast(tensors_[index]);
}

// A backend that is handed memory of a kind that it does not know follows addresses which are none.
void GraphBuilder::check_memory(const ggml_tensor &tensor, ggml_backend_dev_t device) {
    if (tensor.buffer == nullptr) refuse("tensor '%s' has no memory", tensor.name);
    ggml_backend_buffer_type_t type = ggml_backend_buffer_get_type(tensor.buffer);
    if (type == usable_ && device == user_) return;
    if (!ggml_backend_dev_supports_buft(device, type)) refuse("tensor '%s' is in memory of another device", tensor.name);
    usable_ = type;
    user_ = device;
}

// ggml-cuda fills up the last row of blocks as soon as it is told of their tensor. What looks into another one has the room of that, of its type.
void GraphBuilder::check_room(const ggml_tensor &tensor) {
    if (tensor.buffer == nullptr || !ggml_is_quantized(tensor.type)) return;
    if (tensor.view_src != nullptr && tensor.view_src->type == tensor.type) return;
    ggml_backend_dev_t owner = ggml_backend_buft_get_device(ggml_backend_buffer_get_type(tensor.buffer));
    if (owner != nullptr && has_cuda_kernels(owner) && !has_cuda_room(tensor)) refuse("tensor '%s' has no room in its buffer", tensor.name);
}

void GraphBuilder::check_packed(const ggml_tensor &tensor) {
    const Links &record = links_[static_cast<size_t>(&tensor - tensors_.data())];
    uint64_t size = ggml_backend_buffer_get_size(tensor.buffer);
    if (!within(record.data, extent_of(tensor).packed, size)) refuse("tensor '%s' leaves its buffer", tensor.name);
}

void GraphBuilder::check_node(size_t index, ggml_backend_dev_t device) {
    ggml_tensor &node = tensors_[index];
    check_op(node, device);
    if (lies_nowhere(node)) node.op = GGML_OP_NONE; // nothing is to be computed
    if (is_view_op(node.op)) return;
    check_memory(node, device);
    for (ggml_tensor *source : node.src) {
        if (source == nullptr) continue;
        if (lies_nowhere(*source)) place_at(node, *source);
        check_memory(*source, device);
    }
    // Kernels write some results, and read some sources, as if they were contiguous, whatever the strides are.
    check_packed(node);
    for (const ggml_tensor *source : node.src)
        if (source != nullptr) check_packed(*source);
    if ((has_vulkan_kernels(device) && !has_vulkan_layout(node)) || (has_cuda_kernels(device) && !has_cuda_layout(node)))
        refuse("%s of tensors that do not lie as the device needs them", ggml_op_name(node.op));
    if (!ggml_backend_dev_supports_op(device, &node))
        refuse("the device cannot compute %s as '%s' has it", ggml_op_name(node.op), node.name);
}

ggml_cgraph *GraphBuilder::assemble() {
    context_.reset();
    size_t need = ggml_graph_overhead_custom(nodes_.size(), false) + ggml_tensor_overhead();
    if (need > pool_size_) {
        constexpr size_t alignment = 64;
        pool_.reset(std::aligned_alloc(alignment, (need + alignment - 1) / alignment * alignment));
        pool_size_ = pool_ == nullptr ? 0 : need;
        if (pool_ == nullptr) throw std::bad_alloc();
    }
    context_.reset(ggml_init({pool_size_, pool_.get(), true}));
    if (context_ == nullptr) throw std::bad_alloc();
    ggml_cgraph *graph = ggml_new_graph_custom(context_.get(), nodes_.size(), false);
    // Not ggml_build_forward_expand: the guest's nodes are in the order it wants, and may depend on what it computed before.
    for (uint32_t index : nodes_) ggml_graph_add_node(graph, &tensors_[index]);
    return graph;
}

} // namespace apir::host
