// Every offset of backend_interface.hpp, written down a second time: a slot that moves by an edit does not compile.
// Whether the library agrees is what abi-probe finds out.
#pragma once

#include "backend_interface.hpp"

namespace apir::abi {

#define APIR_AT(type, member, offset) static_assert(offsetof(type, member) == (offset), #type "::" #member " moved")

using BufferType2 = BufferTypeInterface<2>;
APIR_AT(BufferType2, get_name, 0x00);
APIR_AT(BufferType2, alloc_buffer, 0x08);
APIR_AT(BufferType2, get_alignment, 0x10);
APIR_AT(BufferType2, get_max_size, 0x18);
APIR_AT(BufferType2, get_alloc_size, 0x20);
APIR_AT(BufferType2, is_host, 0x28);
static_assert(sizeof(BufferType2) == 0x30);

using BufferType3 = BufferTypeInterface<3>;
APIR_AT(BufferType3, get_name, 0x00);
APIR_AT(BufferType3, alloc_buffer, 0x08);
APIR_AT(BufferType3, alloc_buffer_n, 0x10);
APIR_AT(BufferType3, get_alignment, 0x18);
APIR_AT(BufferType3, get_max_size, 0x20);
APIR_AT(BufferType3, get_alloc_size, 0x28);
APIR_AT(BufferType3, get_alloc_size_n, 0x30);
APIR_AT(BufferType3, is_host, 0x38);
static_assert(sizeof(BufferType3) == 0x40);

APIR_AT(ggml_backend_buffer_type, device, sizeof(BufferTypeInterface<APIR_GGML_API>));
APIR_AT(ggml_backend_buffer_type, context, sizeof(BufferTypeInterface<APIR_GGML_API>) + 8);

APIR_AT(ggml_backend_buffer, iface.free_buffer, 0x00);
APIR_AT(ggml_backend_buffer, iface.get_base, 0x08);
APIR_AT(ggml_backend_buffer, iface.init_tensor, 0x10);
APIR_AT(ggml_backend_buffer, iface.memset_tensor, 0x18);
APIR_AT(ggml_backend_buffer, iface.set_tensor, 0x20);
APIR_AT(ggml_backend_buffer, iface.get_tensor, 0x28);
APIR_AT(ggml_backend_buffer, iface.set_tensor_2d, 0x30);
APIR_AT(ggml_backend_buffer, iface.get_tensor_2d, 0x38);
APIR_AT(ggml_backend_buffer, iface.cpy_tensor, 0x40);
APIR_AT(ggml_backend_buffer, iface.clear, 0x48);
APIR_AT(ggml_backend_buffer, iface.reset, 0x50);
#if APIR_GGML_GENERATION == 0
APIR_AT(ggml_backend_buffer, buft, 0x58);
APIR_AT(ggml_backend_buffer, context, 0x60);
APIR_AT(ggml_backend_buffer, size, 0x68);
APIR_AT(ggml_backend_buffer, usage, 0x70);
static_assert(sizeof(ggml_backend_buffer) == 0x78);
#else
APIR_AT(ggml_backend_buffer, iface.set_tensor_n, 0x58);
APIR_AT(ggml_backend_buffer, iface.get_tensor_n, 0x60);
APIR_AT(ggml_backend_buffer, iface.cpy_tensor_n, 0x68);
APIR_AT(ggml_backend_buffer, buft, 0x70);
APIR_AT(ggml_backend_buffer, context, 0x78);
APIR_AT(ggml_backend_buffer, size, 0x80);
APIR_AT(ggml_backend_buffer, usage, 0x88);
static_assert(sizeof(ggml_backend_buffer) == 0x90);
#endif

APIR_AT(ggml_backend, guid, 0x00);
APIR_AT(ggml_backend, iface.get_name, 0x08);
APIR_AT(ggml_backend, iface.free, 0x10);
APIR_AT(ggml_backend, iface.set_tensor_async, 0x18);
APIR_AT(ggml_backend, iface.get_tensor_async, 0x20);
APIR_AT(ggml_backend, iface.set_tensor_2d_async, 0x28);
APIR_AT(ggml_backend, iface.get_tensor_2d_async, 0x30);
APIR_AT(ggml_backend, iface.cpy_tensor_async, 0x38);
APIR_AT(ggml_backend, iface.synchronize, 0x40);
APIR_AT(ggml_backend, iface.graph_plan_create, 0x48);
APIR_AT(ggml_backend, iface.graph_plan_free, 0x50);
APIR_AT(ggml_backend, iface.graph_plan_update, 0x58);
APIR_AT(ggml_backend, iface.graph_plan_compute, 0x60);
APIR_AT(ggml_backend, iface.graph_compute, 0x68);
APIR_AT(ggml_backend, iface.event_record, 0x70);
APIR_AT(ggml_backend, iface.event_wait, 0x78);
APIR_AT(ggml_backend, iface.graph_optimize, 0x80);
APIR_AT(ggml_backend, device, 0x88);
APIR_AT(ggml_backend, context, 0x90);

APIR_AT(ggml_backend_event, device, 0x00);
APIR_AT(ggml_backend_event, context, 0x08);

APIR_AT(ggml_backend_device, iface.get_name, 0x00);
APIR_AT(ggml_backend_device, iface.get_description, 0x08);
APIR_AT(ggml_backend_device, iface.get_memory, 0x10);
APIR_AT(ggml_backend_device, iface.get_type, 0x18);
APIR_AT(ggml_backend_device, iface.get_props, 0x20);
APIR_AT(ggml_backend_device, iface.init_backend, 0x28);
APIR_AT(ggml_backend_device, iface.get_buffer_type, 0x30);
APIR_AT(ggml_backend_device, iface.get_host_buffer_type, 0x38);
APIR_AT(ggml_backend_device, iface.buffer_from_host_ptr, 0x40);
APIR_AT(ggml_backend_device, iface.supports_op, 0x48);
APIR_AT(ggml_backend_device, iface.supports_buft, 0x50);
APIR_AT(ggml_backend_device, iface.offload_op, 0x58);
APIR_AT(ggml_backend_device, iface.event_new, 0x60);
APIR_AT(ggml_backend_device, iface.event_free, 0x68);
APIR_AT(ggml_backend_device, iface.event_synchronize, 0x70);
APIR_AT(ggml_backend_device, reg, 0x78);
APIR_AT(ggml_backend_device, context, 0x80);

APIR_AT(ggml_backend_reg, api_version, 0x00);
APIR_AT(ggml_backend_reg, iface.get_name, 0x08);
APIR_AT(ggml_backend_reg, iface.get_device_count, 0x10);
APIR_AT(ggml_backend_reg, iface.get_device, 0x18);
APIR_AT(ggml_backend_reg, iface.get_proc_address, 0x20);
APIR_AT(ggml_backend_reg, context, 0x28);

// struct ggml_tensor travels raw in calls 6 and 15: protocol.md's offsets are these.
APIR_AT(ggml_tensor, type, 0);
APIR_AT(ggml_tensor, buffer, 8);
APIR_AT(ggml_tensor, ne, 16);
APIR_AT(ggml_tensor, nb, 48);
APIR_AT(ggml_tensor, op, 80);
APIR_AT(ggml_tensor, op_params, 84);
APIR_AT(ggml_tensor, flags, 148);
APIR_AT(ggml_tensor, src, 152);
APIR_AT(ggml_tensor, view_src, 232);
APIR_AT(ggml_tensor, view_offs, 240);
APIR_AT(ggml_tensor, data, 248);
APIR_AT(ggml_tensor, name, 256);
APIR_AT(ggml_tensor, extra, 320);
static_assert(sizeof(ggml_tensor) == 336);
static_assert(GGML_MAX_SRC == 10 && GGML_MAX_DIMS == 4 && GGML_MAX_NAME == 64 && GGML_MAX_OP_PARAMS == 64);

#undef APIR_AT

} // namespace apir::abi
