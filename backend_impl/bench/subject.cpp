#include "subject.hpp"

#include "guest/ggml_slots.hpp"
#include "loopback_device.hpp"
#include "request.hpp"

namespace apir::bench {

Context description_context(size_t tensors) {
    return Context(ggml_init({tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(tensors, false), nullptr, true}));
}

std::unique_ptr<Subject> Subject::of_registry(const std::string &name, int threads) {
    ggml_backend_load_all();
    ggml_backend_reg_t registry = ggml_backend_reg_by_name(name.c_str());
    if (registry == nullptr) throw Failure("ggml has loaded no registry " + name);
    if (ggml_backend_reg_dev_count(registry) == 0) throw Failure("the registry " + name + " has no device");
    return std::unique_ptr<Subject>(new Subject(ggml_backend_reg_dev_get(registry, 0), threads));
}

std::unique_ptr<Subject> Subject::loopback(const std::string &host_library, const std::string &ggml_library, const std::string &threads) {
    // The CPU backend, which ggml's scheduler wants for what no other does.
    ggml_backend_load_all();
    auto registry = guest::make_registry(std::make_unique<LoopbackDevice>(host_library, ggml_library, threads));
    if (registry->devices.empty()) throw Failure("no device in the loopback");
    return std::unique_ptr<Subject>(new Subject(std::move(registry)));
}

Subject::Subject(ggml_backend_dev_t device, int threads) : device_(device), threads_(threads) {}
Subject::Subject(std::unique_ptr<guest::Registry> registry)
    : registry_(std::move(registry)), device_(registry_->device()), threads_(0) {}
Subject::~Subject() = default;

ggml_backend_t Subject::backend() {
    if (backend_ != nullptr) return backend_.get();
    backend_.reset(ggml_backend_dev_init(device_, nullptr));
    if (backend_ == nullptr) throw Failure("the device makes no backend");
    void *set_threads = ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device_), "ggml_backend_set_n_threads");
    if (threads_ > 0 && set_threads != nullptr) reinterpret_cast<ggml_backend_set_n_threads_t>(set_threads)(backend_.get(), threads_);
    return backend_.get();
}

void Subject::ask_memory() const {
    size_t free = 0;
    size_t total = 0;
    ggml_backend_dev_memory(device_, &free, &total);
    if (total == 0) throw Failure("the device does not say how much memory it has");
}

Buffer Subject::buffer(size_t size) {
    Buffer made(ggml_backend_buft_alloc_buffer(buffer_type(), size));
    if (made == nullptr) throw Failure("no buffer of " + std::to_string(size) + " bytes");
    return made;
}

Buffer Subject::place_bytes(ggml_tensor &tensor, size_t size) {
    Buffer made = buffer(size);
    tensor = {};
    tensor.type = GGML_TYPE_I8;
    tensor.ne[0] = static_cast<int64_t>(size);
    tensor.ne[1] = tensor.ne[2] = tensor.ne[3] = 1;
    tensor.nb[0] = 1;
    tensor.nb[1] = tensor.nb[2] = tensor.nb[3] = size;
    if (ggml_backend_tensor_alloc(made.get(), &tensor, ggml_backend_buffer_get_base(made.get())) != GGML_STATUS_SUCCESS)
        throw Failure("no tensor of " + std::to_string(size) + " bytes");
    return made;
}

} // namespace apir::bench
