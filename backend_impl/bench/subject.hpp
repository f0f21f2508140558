// What is measured: a ggml device, reached as any program reaches it, or in this process by way of a host library.
#pragma once

#include <memory>
#include <string>
#include <type_traits>

#include <ggml-backend.h>
#include <ggml.h>

namespace apir::guest {
struct Registry;
}

namespace apir::bench {

template <auto function> struct Freed {
    template <typename T> void operator()(T *value) const { function(value); }
};
using Context = std::unique_ptr<ggml_context, Freed<ggml_free>>;
using Buffer = std::unique_ptr<ggml_backend_buffer, Freed<ggml_backend_buffer_free>>;
using Backend = std::unique_ptr<ggml_backend, Freed<ggml_backend_free>>;

// A context that holds descriptions of tensors, not their data.
Context description_context(size_t tensors);

class Subject {
  public:
    // The first device of a registry of this process, after ggml has loaded what it finds and GGML_BACKEND_PATH names. `threads`
    // for a device that computes in this process; 0: as it likes.
    static std::unique_ptr<Subject> of_registry(const std::string &name, int threads);
    // Guest and host library joined in this process; `threads` for the host's ggml.
    static std::unique_ptr<Subject> loopback(const std::string &host_library, const std::string &ggml_library, const std::string &threads);

    ~Subject();
    Subject(const Subject &) = delete;
    Subject &operator=(const Subject &) = delete;

    ggml_backend_dev_t device() const { return device_; }
    ggml_backend_buffer_type_t buffer_type() const { return ggml_backend_dev_buffer_type(device_); }
    ggml_backend_t backend();
    // The empty call: one command that does next to nothing. Throws Failure when it is not answered: ggml has no other word for that
    // than a device without memory.
    void ask_memory() const;
    // Throws Failure when there is none to be had.
    Buffer buffer(size_t size);
    // A tensor of `size` bytes in a buffer of its own, described by `tensor`, which has to stay where it is.
    Buffer place_bytes(ggml_tensor &tensor, size_t size);

  private:
    Subject(ggml_backend_dev_t device, int threads);
    explicit Subject(std::unique_ptr<guest::Registry> registry);

    std::unique_ptr<guest::Registry> registry_; // of a loopback
    ggml_backend_dev_t device_;
    const int threads_;
    Backend backend_;
};

} // namespace apir::bench
