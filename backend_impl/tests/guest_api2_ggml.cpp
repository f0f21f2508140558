// What a libggml of backend API 2 has that one of API 3 has not: the buffer type without alloc_buffer_n and get_alloc_size_n, read
// by its accessors at version 2's offsets, and a loader that takes backend libraries of version 2 only. Standing before the
// installed libggml in a program, it makes it one of version 2 for everything that a backend library is reached through; no
// libggml of that version is to be had.
#include <cstdlib>
#include <dlfcn.h>

#include <ggml-backend.h>
#include <ggml.h>

namespace {

// Declared anew, not taken from abi/: what is tested must not be its own measure.
struct BufferTypeOf2 {
    const char *(*get_name)(ggml_backend_buffer_type_t);
    ggml_backend_buffer_t (*alloc_buffer)(ggml_backend_buffer_type_t, size_t);
    size_t (*get_alignment)(ggml_backend_buffer_type_t);
    size_t (*get_max_size)(ggml_backend_buffer_type_t);
    size_t (*get_alloc_size)(ggml_backend_buffer_type_t, const ggml_tensor *);
    bool (*is_host)(ggml_backend_buffer_type_t);
    ggml_backend_dev_t device;
    void *context;
};

const BufferTypeOf2 &of(ggml_backend_buffer_type_t type) { return *reinterpret_cast<const BufferTypeOf2 *>(type); }

} // namespace

#define STANDS_BEFORE extern "C" __attribute__((visibility("default")))

STANDS_BEFORE const char *ggml_backend_buft_name(ggml_backend_buffer_type_t type) { return of(type).get_name(type); }
STANDS_BEFORE ggml_backend_buffer_t ggml_backend_buft_alloc_buffer(ggml_backend_buffer_type_t type, size_t size) {
    return of(type).alloc_buffer(type, size);
}
STANDS_BEFORE size_t ggml_backend_buft_get_alignment(ggml_backend_buffer_type_t type) { return of(type).get_alignment(type); }
STANDS_BEFORE size_t ggml_backend_buft_get_max_size(ggml_backend_buffer_type_t type) {
    return of(type).get_max_size == nullptr ? SIZE_MAX : of(type).get_max_size(type);
}
STANDS_BEFORE size_t ggml_backend_buft_get_alloc_size(ggml_backend_buffer_type_t type, const ggml_tensor *tensor) {
    return of(type).get_alloc_size == nullptr ? ggml_nbytes(tensor) : of(type).get_alloc_size(type, tensor);
}
STANDS_BEFORE bool ggml_backend_buft_is_host(ggml_backend_buffer_type_t type) {
    return of(type).is_host != nullptr && of(type).is_host(type);
}
STANDS_BEFORE ggml_backend_dev_t ggml_backend_buft_get_device(ggml_backend_buffer_type_t type) { return of(type).device; }

STANDS_BEFORE ggml_backend_reg_t ggml_backend_load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    auto init = library == nullptr ? nullptr : reinterpret_cast<ggml_backend_reg_t (*)()>(dlsym(library, "ggml_backend_init"));
    ggml_backend_reg_t registry = init == nullptr ? nullptr : init();
    // The version is the registry's first member.
    return registry != nullptr && *reinterpret_cast<const int *>(registry) == 2 ? registry : nullptr;
}
STANDS_BEFORE void ggml_backend_unload(ggml_backend_reg_t) {}
