#include "quantiser.hpp"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <exception>
#include <thread>
#include <vector>

namespace apir::reference {
namespace {

constexpr const char *description = "ggml_quantize_chunk of libggml-base";
constexpr int64_t fewest_elements = 1 << 14; // less is not worth a thread
ggml_backend_dev_t memory_device = nullptr;
std::atomic<int> thread_count{1};

ggml_guid *guid() {
    static ggml_guid own = {0x71, 0x75, 0x61, 0x6e, 0x74, 0x69, 0x73, 0x65, 0x72, 0x20, 0x6f, 0x66, 0x20, 0x6c, 0x61, 0x62};
    return &own;
}

using Quantise = decltype(ggml_quantize_chunk) *;

// libggml-base's own function: in one process with the preload, its name leads back to here.
Quantise quantise_chunk() {
    static const auto own = [] {
        void *base = dlopen(APIR_GGML_BASE_SONAME, RTLD_NOW | RTLD_NOLOAD);
        void *found = base == nullptr ? nullptr : dlsym(base, "ggml_quantize_chunk");
        return found == nullptr ? &ggml_quantize_chunk : reinterpret_cast<Quantise>(found);
    }();
    return own;
}

bool is_computable(const ggml_tensor &node) {
    const ggml_tensor *from = node.src[0];
    return node.op == GGML_OP_CPY && from != nullptr && from->type == GGML_TYPE_F32 &&
           (ggml_is_quantized(node.type) || node.type == GGML_TYPE_F16) && ggml_is_contiguous(from) && ggml_is_contiguous(&node) && ggml_are_same_shape(from, &node) &&
           node.ne[0] % ggml_blck_size(node.type) == 0;
}

void quantise(const ggml_tensor &node) {
    const auto *from = static_cast<const float *>(node.src[0]->data);
    const std::vector<float> ones(static_cast<size_t>(node.op_params[0] == importance_of_one ? node.ne[0] : 0), 1.0F);
    const int64_t rows = ggml_nrows(&node);
    int64_t parts = std::min<int64_t>({thread_count, rows, 1 + ggml_nelements(&node) / fewest_elements});
    const int64_t each = (rows + parts - 1) / parts;
    auto part = [&](int64_t first) {
        quantise_chunk()(node.type, from, node.data, first * node.ne[0], std::min(each, rows - first), node.ne[0],
                         ones.empty() ? nullptr : ones.data());
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(parts));
    int64_t first = each;
    try {
        for (; first < rows; first += each) threads.emplace_back(part, first);
    } catch (const std::exception &) { // there are no more to be had: this one does the rest
    }
    part(0);
    for (; first < rows; first += each) part(first);
    for (std::thread &thread : threads) thread.join();
}

ggml_status compute(ggml_backend_t, ggml_cgraph *graph) {
    for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
        const ggml_tensor &node = *ggml_graph_node(graph, i);
        if (node.op == GGML_OP_NONE || node.op == GGML_OP_VIEW) continue;
        if (!is_computable(node)) return GGML_STATUS_FAILED;
        try {
            if (ggml_nelements(&node) != 0) quantise(node);
        } catch (const std::exception &) {
            return GGML_STATUS_ALLOC_FAILED;
        }
    }
    return GGML_STATUS_SUCCESS;
}

ggml_backend_t init_backend(ggml_backend_dev_t device, const char *) {
    auto *made = new ggml_backend{};
    made->guid = guid();
    made->iface.get_name = [](ggml_backend_t) { return quantiser_name; };
    made->iface.free = [](ggml_backend_t backend) { delete backend; };
    made->iface.graph_compute = compute;
    made->device = device;
    return made;
}

void get_props(ggml_backend_dev_t device, ggml_backend_dev_props *props) {
    *props = {};
    props->name = quantiser_name;
    props->description = description;
    device->iface.get_memory(device, &props->memory_free, &props->memory_total);
    props->type = device->iface.get_type(device);
    props->caps.buffer_from_host_ptr = true;
}

ggml_backend_buffer_t buffer_from(ggml_backend_dev_t, void *data, size_t size, size_t largest) {
    return memory_device->iface.buffer_from_host_ptr(memory_device, data, size, largest);
}

} // namespace

ggml_backend_dev_t quantiser_device(ggml_backend_reg_t registry, ggml_backend_dev_t memory) {
    static ggml_backend_device only = [] {
        ggml_backend_device made{};
        made.iface.get_name = [](ggml_backend_dev_t) { return quantiser_name; };
        made.iface.get_description = [](ggml_backend_dev_t) { return description; };
        made.iface.get_memory = [](ggml_backend_dev_t, size_t *free, size_t *total) {
            memory_device->iface.get_memory(memory_device, free, total);
        };
        made.iface.get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_ACCEL; };
        made.iface.get_props = get_props;
        made.iface.init_backend = init_backend;
        made.iface.get_buffer_type = [](ggml_backend_dev_t) { return memory_device->iface.get_buffer_type(memory_device); };
        made.iface.buffer_from_host_ptr = buffer_from;
        made.iface.supports_op = [](ggml_backend_dev_t, const ggml_tensor *op) { return is_computable(*op); };
        made.iface.supports_buft = [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) {
            return memory_device->iface.supports_buft(memory_device, type);
        };
        return made;
    }();
    memory_device = memory;
    only.reg = registry;
    return &only;
}

bool set_quantiser_threads(ggml_backend_t backend, int threads) {
    if (backend->guid != guid()) return false;
    thread_count = std::max(threads, 1);
    return true;
}

} // namespace apir::reference
