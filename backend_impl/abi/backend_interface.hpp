// ggml's backend interface, declared by us: libggml-dev ships the public headers only.
//
// A backend library is a set of these structs filled with functions; libggml-base calls through them by offset. The
// offsets were read off libggml-base 0.27.0 (backend API version 3); version 2 lacks alloc_buffer_n and
// get_alloc_size_n in the buffer type. libggml 1.0 has version 3 as well, and three slots more in the buffer. abi-probe proves the offsets against the library that is installed.
//
// APIR_GGML_API chooses the version that the global structs, ggml's own names, have in this translation unit.
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <cstdint>

#ifndef APIR_GGML_API
#define APIR_GGML_API 3
#endif

namespace apir::abi {

template <int Api> struct BufferTypeInterface;

template <> struct BufferTypeInterface<2> {
    const char *(*get_name)(ggml_backend_buffer_type_t buft);
    ggml_backend_buffer_t (*alloc_buffer)(ggml_backend_buffer_type_t buft, size_t size);
    size_t (*get_alignment)(ggml_backend_buffer_type_t buft);
    size_t (*get_max_size)(ggml_backend_buffer_type_t buft);                                  // optional
    size_t (*get_alloc_size)(ggml_backend_buffer_type_t buft, const ggml_tensor *tensor);     // optional
    bool (*is_host)(ggml_backend_buffer_type_t buft);                                         // optional
};

template <> struct BufferTypeInterface<3> {
    const char *(*get_name)(ggml_backend_buffer_type_t buft);
    ggml_backend_buffer_t (*alloc_buffer)(ggml_backend_buffer_type_t buft, size_t size);
    ggml_backend_buffer_t (*alloc_buffer_n)(ggml_backend_buffer_type_t buft, ggml_tensor **tensors, int n); // optional
#ifdef APIR_ABI_PLANT_SHIFT
    void *planted; // a wrong layout on purpose: the probe has to refuse it
#endif
    size_t (*get_alignment)(ggml_backend_buffer_type_t buft);
    size_t (*get_max_size)(ggml_backend_buffer_type_t buft);                                  // optional
    size_t (*get_alloc_size)(ggml_backend_buffer_type_t buft, const ggml_tensor *tensor);     // optional
    size_t (*get_alloc_size_n)(ggml_backend_buffer_type_t buft, ggml_tensor **tensors, int n); // optional
    bool (*is_host)(ggml_backend_buffer_type_t buft);                                         // optional
};

struct BufferInterface {
    void (*free_buffer)(ggml_backend_buffer_t buffer); // optional
    void *(*get_base)(ggml_backend_buffer_t buffer);
    ggml_status (*init_tensor)(ggml_backend_buffer_t buffer, ggml_tensor *tensor); // optional
    void (*memset_tensor)(ggml_backend_buffer_t buffer, ggml_tensor *tensor, uint8_t value, size_t offset, size_t size);
    void (*set_tensor)(ggml_backend_buffer_t buffer, ggml_tensor *tensor, const void *data, size_t offset, size_t size);
    void (*get_tensor)(ggml_backend_buffer_t buffer, const ggml_tensor *tensor, void *data, size_t offset, size_t size);
    void (*set_tensor_2d)(ggml_backend_buffer_t buffer, ggml_tensor *tensor, const void *data, size_t offset, size_t size,
                          size_t n_copies, size_t stride_tensor, size_t stride_data); // optional
    void (*get_tensor_2d)(ggml_backend_buffer_t buffer, const ggml_tensor *tensor, void *data, size_t offset, size_t size,
                          size_t n_copies, size_t stride_tensor, size_t stride_data); // optional
    bool (*cpy_tensor)(ggml_backend_buffer_t buffer, const ggml_tensor *src, ggml_tensor *dst); // optional
    void (*clear)(ggml_backend_buffer_t buffer, uint8_t value);
    void (*reset)(ggml_backend_buffer_t buffer); // optional
#if APIR_GGML_GENERATION > 0
    // Of many tensors at once; optional.
    void (*set_tensor_n)(ggml_backend_buffer_t buffer, ggml_tensor *const *tensors, const void *data, const size_t *offsets, const size_t *sizes,
                         const size_t *data_offsets, size_t n);
    void (*get_tensor_n)(ggml_backend_buffer_t buffer, const ggml_tensor *const *tensors, void *data, const size_t *offsets, const size_t *sizes,
                         const size_t *data_offsets, size_t n);
    bool (*cpy_tensor_n)(ggml_backend_buffer_t buffer, const ggml_tensor *const *sources, ggml_tensor *const *targets, size_t n);
#endif
};

struct BackendInterface {
    const char *(*get_name)(ggml_backend_t backend);
    void (*free)(ggml_backend_t backend);
    // All of the following but graph_compute are optional.
    void (*set_tensor_async)(ggml_backend_t backend, ggml_tensor *tensor, const void *data, size_t offset, size_t size);
    void (*get_tensor_async)(ggml_backend_t backend, const ggml_tensor *tensor, void *data, size_t offset, size_t size);
    void (*set_tensor_2d_async)(ggml_backend_t backend, ggml_tensor *tensor, const void *data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data);
    void (*get_tensor_2d_async)(ggml_backend_t backend, const ggml_tensor *tensor, void *data, size_t offset, size_t size,
                                size_t n_copies, size_t stride_tensor, size_t stride_data);
    bool (*cpy_tensor_async)(ggml_backend_t src_backend, ggml_backend_t dst_backend, const ggml_tensor *src,
                             ggml_tensor *dst);
    void (*synchronize)(ggml_backend_t backend);
    ggml_backend_graph_plan_t (*graph_plan_create)(ggml_backend_t backend, const ggml_cgraph *cgraph);
    void (*graph_plan_free)(ggml_backend_t backend, ggml_backend_graph_plan_t plan);
    void (*graph_plan_update)(ggml_backend_t backend, ggml_backend_graph_plan_t plan, const ggml_cgraph *cgraph);
    ggml_status (*graph_plan_compute)(ggml_backend_t backend, ggml_backend_graph_plan_t plan);
    ggml_status (*graph_compute)(ggml_backend_t backend, ggml_cgraph *cgraph);
    void (*event_record)(ggml_backend_t backend, ggml_backend_event_t event);
    void (*event_wait)(ggml_backend_t backend, ggml_backend_event_t event);
    void (*graph_optimize)(ggml_backend_t backend, ggml_cgraph *cgraph);
};

struct DeviceInterface {
    const char *(*get_name)(ggml_backend_dev_t dev);
    const char *(*get_description)(ggml_backend_dev_t dev);
    void (*get_memory)(ggml_backend_dev_t dev, size_t *free, size_t *total);
    enum ggml_backend_dev_type (*get_type)(ggml_backend_dev_t dev);
    void (*get_props)(ggml_backend_dev_t dev, ggml_backend_dev_props *props);
    ggml_backend_t (*init_backend)(ggml_backend_dev_t dev, const char *params);
    ggml_backend_buffer_type_t (*get_buffer_type)(ggml_backend_dev_t dev);
    ggml_backend_buffer_type_t (*get_host_buffer_type)(ggml_backend_dev_t dev); // optional
    // Called unconditionally by ggml_backend_dev_buffer_from_host_ptr: never null.
    ggml_backend_buffer_t (*buffer_from_host_ptr)(ggml_backend_dev_t dev, void *ptr, size_t size, size_t max_tensor_size);
    bool (*supports_op)(ggml_backend_dev_t dev, const ggml_tensor *op);
    bool (*supports_buft)(ggml_backend_dev_t dev, ggml_backend_buffer_type_t buft);
    bool (*offload_op)(ggml_backend_dev_t dev, const ggml_tensor *op);            // optional
    ggml_backend_event_t (*event_new)(ggml_backend_dev_t dev);                    // optional
    void (*event_free)(ggml_backend_dev_t dev, ggml_backend_event_t event);       // with event_new
    void (*event_synchronize)(ggml_backend_dev_t dev, ggml_backend_event_t event); // with event_new
};

struct RegistryInterface {
    const char *(*get_name)(ggml_backend_reg_t reg);
    size_t (*get_device_count)(ggml_backend_reg_t reg);
    ggml_backend_dev_t (*get_device)(ggml_backend_reg_t reg, size_t index);
    void *(*get_proc_address)(ggml_backend_reg_t reg, const char *name); // optional
};

} // namespace apir::abi

// ggml's own names, completed: only pointers to them appear in the public headers.

struct ggml_backend_buffer_type {
    apir::abi::BufferTypeInterface<APIR_GGML_API> iface;
    ggml_backend_dev_t device;
    void *context;
};

struct ggml_backend_buffer {
    apir::abi::BufferInterface iface;
    ggml_backend_buffer_type_t buft;
    void *context;
    size_t size;
    enum ggml_backend_buffer_usage usage;
};

struct ggml_backend {
    ggml_guid_t guid;
    apir::abi::BackendInterface iface;
    ggml_backend_dev_t device;
    void *context;
};

struct ggml_backend_event {
    ggml_backend_dev_t device;
    void *context;
};

struct ggml_backend_device {
    apir::abi::DeviceInterface iface;
    ggml_backend_reg_t reg;
    void *context;
};

struct ggml_backend_reg {
    int api_version;
    apir::abi::RegistryInterface iface;
    void *context;
};

// Exported by libggml-base, absent from its public headers. The buffer is freed by ggml_backend_buffer_free.
extern "C" ggml_backend_buffer_t ggml_backend_buffer_init(ggml_backend_buffer_type_t buft, apir::abi::BufferInterface iface,
                                                          void *context, size_t size);

#ifndef APIR_ABI_PLANT_SHIFT
#include "layout_asserts.hpp"
#endif
