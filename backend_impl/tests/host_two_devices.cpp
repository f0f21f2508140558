// A ggml backend library with two devices, for tests: each computes with ggml's CPU backend and counts its graphs. They do not
// take each other's memory, as two graphics cards would not. The second makes buffers from pointers, the first does not. On demand the
// next graph ends as ggml-cpu's do without memory: by an exception, after which its backend can be neither used nor freed.
#include <abi/backend_interface.hpp>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <new>
#include <set>

namespace {

struct Card {
    const char *name;
    const char *memory;
    bool takes_pointers;
    ggml_backend_device device{};
    ggml_backend_buffer_type type{};
    std::atomic<int> graphs{0};
};
Card cards[2] = {{"CARD0", "CARD0 memory", false}, {"CARD1", "CARD1 memory", true}};

ggml_backend_dev_t cpu = nullptr;
ggml_status (*cpu_compute)(ggml_backend_t, ggml_cgraph *) = nullptr;
void (*cpu_free)(ggml_backend_t) = nullptr;
ggml_backend_reg registry{};

Card &card_of(ggml_backend_dev_t device) { return device == &cards[1].device ? cards[1] : cards[0]; }
Card &card_of(ggml_backend_buffer_type_t type) { return type == &cards[1].type ? cards[1] : cards[0]; }

std::atomic<int> asked{0};
std::atomic<bool> throws_next{false};
std::atomic<bool> computes_when_awaited{false};
std::mutex pending_mutex;
std::map<ggml_backend_t, ggml_cgraph *> pending; // graphs that are computed when they are awaited
std::atomic<void (*)(ggml_cgraph *)> watch{nullptr};
std::atomic<int> misused{0};
std::mutex broken_mutex;
std::set<ggml_backend_t> broken; // that threw

bool is_broken(ggml_backend_t backend) {
    std::lock_guard lock(broken_mutex);
    return broken.count(backend) != 0;
}

ggml_status compute(ggml_backend_t backend, ggml_cgraph *graph) {
    if (is_broken(backend)) return ++misused, GGML_STATUS_FAILED;
    if (throws_next.exchange(false)) {
        std::lock_guard lock(broken_mutex);
        broken.insert(backend);
        throw std::bad_alloc();
    }
    ++card_of(backend->device).graphs;
    if (auto *look = watch.load()) look(graph);
    if (!computes_when_awaited) return cpu_compute(backend, graph);
    std::lock_guard lock(pending_mutex);
    pending[backend] = graph;
    return GGML_STATUS_SUCCESS;
}

void synchronize(ggml_backend_t backend) {
    std::lock_guard lock(pending_mutex);
    if (auto graph = pending.find(backend); graph != pending.end()) {
        cpu_compute(backend, graph->second);
        pending.erase(graph);
    }
}

void free_backend(ggml_backend_t backend) {
    if (is_broken(backend)) ++misused;
    else cpu_free(backend);
}

ggml_backend_t init_backend(ggml_backend_dev_t device, const char *parameters) {
    ggml_backend_t made = cpu->iface.init_backend(cpu, parameters);
    if (made == nullptr) return nullptr;
    cpu_compute = made->iface.graph_compute;
    made->iface.graph_compute = compute;
    cpu_free = made->iface.free;
    made->iface.free = free_backend;
    made->iface.synchronize = synchronize;
    made->device = device;
    return made;
}

void get_props(ggml_backend_dev_t device, ggml_backend_dev_props *props) {
    cpu->iface.get_props(cpu, props);
    props->name = card_of(device).name;
    props->caps.buffer_from_host_ptr = card_of(device).takes_pointers;
}

ggml_backend_buffer_t buffer_from_host_ptr(ggml_backend_dev_t device, void *memory, size_t size, size_t largest) {
    ggml_backend_buffer_t made = cpu->iface.buffer_from_host_ptr(cpu, memory, size, largest);
    if (made != nullptr) made->buft = &card_of(device).type;
    return made;
}

void set_up(Card &card) {
    card.device = *cpu;
    card.device.reg = &registry;
    card.device.iface.get_name = [](ggml_backend_dev_t device) { return card_of(device).name; };
    card.device.iface.get_type = [](ggml_backend_dev_t) { return GGML_BACKEND_DEVICE_TYPE_GPU; };
    card.device.iface.get_props = get_props;
    card.device.iface.init_backend = init_backend;
    card.device.iface.get_buffer_type = [](ggml_backend_dev_t device) { return &card_of(device).type; };
    card.device.iface.buffer_from_host_ptr = buffer_from_host_ptr;
    card.device.iface.supports_buft = [](ggml_backend_dev_t device, ggml_backend_buffer_type_t type) { return type->device == device; };
    card.device.iface.supports_op = [](ggml_backend_dev_t, const ggml_tensor *op) { return ++asked, cpu->iface.supports_op(cpu, op); };
    card.type = *cpu->iface.get_buffer_type(cpu);
    card.type.device = &card.device;
    card.type.iface.get_name = [](ggml_backend_buffer_type_t type) { return card_of(type).memory; };
}

ggml_backend_reg_t opened() {
    void *library = dlopen(GGML_CPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    auto init = library == nullptr ? nullptr : reinterpret_cast<ggml_backend_reg_t (*)()>(dlsym(library, "ggml_backend_init"));
    if (init == nullptr) return nullptr;
    ggml_backend_reg_t theirs = init();
    cpu = theirs->iface.get_device(theirs, 0);
    registry = *theirs;
    registry.iface.get_name = [](ggml_backend_reg_t) { return "cards"; };
    registry.iface.get_device_count = [](ggml_backend_reg_t) { return size_t{2}; };
    registry.iface.get_device = [](ggml_backend_reg_t, size_t index) { return &cards[index].device; };
    for (Card &card : cards) set_up(card);
    return &registry;
}

// A device with memory that this processor does not reach, which goes by ggml-vulkan's name. Each of its buffers begins at the same address, as that one's
// do: followed, it ends the process.
constexpr uintptr_t far_base = 0x1000;
ggml_backend_device far_device{};
ggml_backend_buffer_type far_type{};
ggml_backend_reg far_registry{};

uint8_t *far_place(ggml_backend_buffer_t buffer, const ggml_tensor *tensor, size_t offset) {
    return static_cast<uint8_t *>(buffer->context) + (reinterpret_cast<uintptr_t>(tensor->data) - far_base) + offset;
}

ggml_backend_buffer_t far_buffer(ggml_backend_buffer_type_t type, size_t size) {
    apir::abi::BufferInterface calls{};
    calls.free_buffer = [](ggml_backend_buffer_t buffer) { std::free(buffer->context); };
    calls.get_base = [](ggml_backend_buffer_t) { return reinterpret_cast<void *>(far_base); };
    calls.init_tensor = [](ggml_backend_buffer_t, ggml_tensor *tensor) { return tensor->name[0] == '!' ? GGML_STATUS_FAILED : GGML_STATUS_SUCCESS; };
    calls.set_tensor = [](ggml_backend_buffer_t buffer, ggml_tensor *tensor, const void *data, size_t offset, size_t bytes) {
        std::memcpy(far_place(buffer, tensor, offset), data, bytes);
    };
    calls.get_tensor = [](ggml_backend_buffer_t buffer, const ggml_tensor *tensor, void *data, size_t offset, size_t bytes) {
        std::memcpy(data, far_place(buffer, tensor, offset), bytes);
    };
    calls.clear = [](ggml_backend_buffer_t buffer, uint8_t value) { std::memset(buffer->context, value, buffer->size); };
    return ggml_backend_buffer_init(type, calls, std::calloc(1, size), size);
}

void set_up_far(const ggml_backend_reg &cards_registry) {
    far_device = cards[0].device;
    far_device.reg = &far_registry;
    far_device.iface.get_name = [](ggml_backend_dev_t) { return "FAR"; };
    far_device.iface.get_description = [](ggml_backend_dev_t) { return "far away"; };
    far_device.iface.get_memory = [](ggml_backend_dev_t, size_t *free, size_t *total) { *free = size_t{1} << 30, *total = size_t{2} << 30; };
    far_device.iface.get_props = [](ggml_backend_dev_t, ggml_backend_dev_props *props) { *props = {}, props->caps = {true, false, false, true, true}; };
    far_device.iface.get_buffer_type = [](ggml_backend_dev_t) { return &far_type; };
    far_device.iface.supports_buft = [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return type == &far_type; };
    far_device.iface.supports_op = [](ggml_backend_dev_t, const ggml_tensor *op) { return op->op == GGML_OP_SQR || op->op == GGML_OP_ARGSORT || op->op == GGML_OP_VIEW; };
    far_device.iface.init_backend = [](ggml_backend_dev_t device, const char *parameters) {
        ggml_backend_t made = init_backend(device, parameters);
        made->iface.graph_compute = [](ggml_backend_t, ggml_cgraph *) { return GGML_STATUS_SUCCESS; };
        return made;
    };
    far_type = cards[0].type;
    far_type.device = &far_device;
    far_type.iface.alloc_buffer = far_buffer;
    far_type.iface.get_max_size = [](ggml_backend_buffer_type_t) { return size_t{40} << 20; };
    far_type.iface.get_alloc_size = [](ggml_backend_buffer_type_t, const ggml_tensor *tensor) {
        return ggml_nbytes(tensor) + (tensor->op == GGML_OP_SQR ? ggml_nbytes(tensor->src[0]) : 0);
    };
    far_type.iface.is_host = [](ggml_backend_buffer_type_t) { return false; };
    far_registry = cards_registry;
    far_registry.iface.get_name = [](ggml_backend_reg_t) { return "Vulkan"; };
    far_registry.iface.get_device_count = [](ggml_backend_reg_t) { return size_t{1}; };
    far_registry.iface.get_device = [](ggml_backend_reg_t, size_t) { return &far_device; };
}

// A device that goes by ggml-cuda's name, and as that one asserts that blocks lie side by side when it is asked for their size, and fills up
// their last row when it is told of them. Here either ends the process.
ggml_backend_device filling_device{};
ggml_backend_buffer_type filling_type{};
ggml_backend_reg filling_registry{};

size_t filled_up(const ggml_tensor *tensor) {
    constexpr int64_t row = 512;
    if (!ggml_is_quantized(tensor->type) || tensor->ne[0] % row == 0) return ggml_nbytes(tensor);
    if (tensor->nb[0] != ggml_type_size(tensor->type)) std::abort();
    return ggml_nbytes(tensor) + ggml_row_size(tensor->type, row - tensor->ne[0] % row);
}

ggml_backend_buffer_t filling_buffer(ggml_backend_buffer_type_t type, size_t size) {
    ggml_backend_buffer_t made = cards[0].type.iface.alloc_buffer(&cards[0].type, size);
    if (made == nullptr) return nullptr;
    made->buft = type;
    made->iface.init_tensor = [](ggml_backend_buffer_t buffer, ggml_tensor *tensor) {
        if (tensor->view_src != nullptr) return GGML_STATUS_SUCCESS;
        const auto *end = static_cast<const uint8_t *>(ggml_backend_buffer_get_base(buffer)) + buffer->size;
        if (static_cast<const uint8_t *>(tensor->data) + filled_up(tensor) > end) std::abort();
        return GGML_STATUS_SUCCESS;
    };
    return made;
}

void set_up_filling(const ggml_backend_reg &cards_registry) {
    filling_device = cards[0].device;
    filling_device.reg = &filling_registry;
    filling_device.iface.get_buffer_type = [](ggml_backend_dev_t) { return &filling_type; };
    filling_device.iface.supports_buft = [](ggml_backend_dev_t, ggml_backend_buffer_type_t type) { return type == &filling_type; };
    filling_type = cards[0].type;
    filling_type.device = &filling_device;
    filling_type.iface.alloc_buffer = filling_buffer;
    filling_type.iface.get_alloc_size = [](ggml_backend_buffer_type_t, const ggml_tensor *tensor) { return filled_up(tensor); };
    filling_registry = cards_registry;
    filling_registry.iface.get_name = [](ggml_backend_reg_t) { return "CUDA"; };
    filling_registry.iface.get_device_count = [](ggml_backend_reg_t) { return size_t{1}; };
    filling_registry.iface.get_device = [](ggml_backend_reg_t, size_t) { return &filling_device; };
}

} // namespace

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init() {
    static ggml_backend_reg_t only = opened();
    return only;
}

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t far_init() {
    static const bool there = ggml_backend_init() != nullptr && (set_up_far(registry), true);
    return there ? &far_registry : nullptr;
}

extern "C" __attribute__((visibility("default"))) ggml_backend_reg_t filling_init() {
    static const bool there = ggml_backend_init() != nullptr && (set_up_filling(registry), true);
    return there ? &filling_registry : nullptr;
}

// Graphs that a device has computed.
extern "C" __attribute__((visibility("default"))) int cards_computed(int index) { return cards[index].graphs; }

// How often a device was asked whether it can compute an op.
extern "C" __attribute__((visibility("default"))) int cards_asked() { return asked; }

extern "C" __attribute__((visibility("default"))) void cards_throw_next() { throws_next = true; }
// From now on a graph is computed when it is waited for.
extern "C" __attribute__((visibility("default"))) void cards_compute_when_awaited() { computes_when_awaited = true; }
// Called with each graph before it is computed.
extern "C" __attribute__((visibility("default"))) void cards_watch(void (*look)(ggml_cgraph *)) { watch = look; }
// Uses of backends that threw.
extern "C" __attribute__((visibility("default"))) int cards_misused() { return misused; }
