// Generated from backend_impl/protocol/apir.toml by `python -m backend_impl.protocol`. Do not edit.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "reader.hpp"
#include "short_copies.hpp"
#include "writer.hpp"

namespace apir {

inline constexpr uint32_t protocol_major = 0;
inline constexpr uint32_t protocol_minor = 2;
// Longest string that is accepted from the other side, in bytes without the NUL.
inline constexpr size_t max_string = 4095;
// virtio-gpu capability set of Venus, routed to APIR while VIRGL_ROUTE_VENUS_TO_APIR is set.
inline constexpr uint32_t venus_capset = 4;
// virtio-gpu capability set of APIR itself.
inline constexpr uint32_t apir_capset = 10;
// Added to the command type unless the guest chose the APIR capset; a component accepts both forms on both.
inline constexpr uint32_t venus_command_offset = 331;
// Return code of a HandShake that was understood.
inline constexpr uint32_t handshake_magic = 43806;
// Sizes of shared blobs are rounded up to a multiple of this, in bytes.
inline constexpr uint32_t blob_granularity = 16384;
// Size of a reply resource, in bytes.
inline constexpr uint32_t reply_page_size = 16384;
// Size of the data resource, in bytes; smaller where the window has no room for it. Today's peer brings a blob of its own for larger transfers; ours carries tensors in pieces, and brings one for larger graphs only.
inline constexpr uint32_t data_page_size = 25362432;
// A command, header included, is at most this long, in bytes; only one with calls that go along with another (batch) may be longer.
inline constexpr uint32_t command_buffer_size = 4096;
// A command of the extension batch, header included, is at most this long, in bytes: a token of a language model has some ten small writes, of 7 KiB together.
inline constexpr uint32_t batch_command_size = 16384;
// How long the guest waits for the reply to HandShake.
inline constexpr uint32_t handshake_wait_ms = 2000;
// How long the guest waits for the reply to LoadLibrary.
inline constexpr uint32_t load_library_wait_ms = 60000;
// Bytes at the end of a reply resource that belong to the extension timing.
inline constexpr uint32_t reply_timing_size = 16;
// Ring of a context (ring_idx of a submission) whose fences a component with the extension bunched_fences completes late, in every context: nobody may wait for them.
inline constexpr uint32_t unawaited_ring = 1;
// Forward calls from this number up are extensions; a peer without them refuses with any code other than ok.
inline constexpr uint32_t first_extension_call = 64;
// Sources of a tensor (GGML_MAX_SRC).
inline constexpr uint32_t max_sources = 10;
// GGML_TENSOR_FLAG_COMPUTE: a graph node without it is skipped in silence.
inline constexpr uint32_t tensor_flag_compute = 16;
// Devices of a host library that a guest offers (extension devices).
inline constexpr uint32_t max_devices = 16;
// How long a guest waits for a graph where nobody watches over the worker (without extension liveness).
inline constexpr uint32_t graph_wait_ms = 600000;
// u32 in a command ring: 1 while the worker sleeps, or is about to. It stores 1 and 0; who publishes a command swaps 1 for 0 and then owes the doorbell.
inline constexpr uint32_t ring_asleep_offset = 0;
// u32 in a command ring: ring_state. Written by the host's side alone once the ring was accepted.
inline constexpr uint32_t ring_state_offset = 64;
// Where the slots of a command ring begin.
inline constexpr uint32_t ring_slots_offset = 128;
// u64 in a slot: ticket t when it is free for command number t, t + 1 when that command stands in it. Written with release order behind the rest of the slot, read with acquire.
inline constexpr uint32_t ring_turn_offset = 0;
// u32 in a slot: length of the command.
inline constexpr uint32_t ring_size_offset = 8;
// Where the command's bytes begin in a slot: the same as those of an EXECBUFFER submission.
inline constexpr uint32_t ring_command_offset = 16;
// Slots of a command ring at most; their number is a power of two from 2 up.
inline constexpr uint32_t ring_most_slots = 1024;
// Bytes of a slot at most; a multiple of 64.
inline constexpr uint32_t ring_largest_slot = 65600;
// u32 in a pipe: bytes of the transfer that were put into its area so far. Written by whoever fills it, with release order.
inline constexpr uint32_t pipe_put_offset = 0;
// u32 in a pipe: bytes of the transfer that were taken out of its area so far. Written by whoever empties it, with release order.
inline constexpr uint32_t pipe_taken_offset = 64;
// Bytes of a pipe that belong to its words: its area begins behind them.
inline constexpr uint32_t pipe_words_size = 128;
// What a guest that gives a transfer up writes into its word: the host ends the call, which has failed.
inline constexpr uint32_t pipe_given_up = 4294967295;
// Bytes of one transfer through a pipe at most.
inline constexpr uint32_t pipe_largest = 1073741824;

// First word of a command.
enum class CommandType : uint32_t {
    handshake = 0, // exchange protocol versions
    load_library = 1, // open the host library and initialise it
    forward = 2, // a call of the host library; its number stands in `flags`
};

// What a reply's first word holds, less 1, for Forward.
enum class ReturnCode : uint32_t {
    no_dispatch = 1, // the host library has no dispatch function, or is not initialised
    ok = 4, // the call was carried out
    call_failed = 5, // the host library refused or failed the call
    unknown_call = 10, // the host library has no such call
    worker_lost = 64, // ours: the process that serves the context has ended; the context is lost for good
};

// Return code of LoadLibrary. The causes are looked for in this order: 1 (ours), 3, 2, 4, 5, 6 and above.
enum class LoadCode : uint32_t {
    ok = 0, // opened and initialised
    not_sent = 1, // made by the guest itself: the command could not be sent; ours also: another major version
    already_loaded = 2, // this context loaded it before (as reply); made by the guest itself: no reply in time
    variable_missing = 3, // neither configuration key nor environment variable names the host library
    cannot_open = 4, // not a regular file, or not loadable
    symbol_missing = 5, // it lacks a function of the host library's interface
    init_failed = 6, // this and above: 6 + what apir_backend_initialize returned (init error n arrives as 12 + n)
};

// What apir_backend_initialize returns: success, or 6 + n.
enum class InitCode : uint32_t {
    success = 6, // initialised
    cannot_open_backend = 7, // n = 1: the backend library cannot be opened
    cannot_open_ggml = 8, // n = 2: the ggml library cannot be opened, or its variable is missing
    backend_symbols = 9, // n = 3: the backend library lacks symbols
    ggml_symbols = 10, // n = 4: the ggml library lacks the registration symbol
    backend_failed = 11, // n = 5: the backend failed
    registration_failed = 12, // n = 6: the registration function gave nothing
    already_initialised = 13, // n = 7: this context was initialised before
    no_device = 14, // n = 8: the ggml library offers no device
    backend_init_failed = 15, // n = 9: the device gave no backend
};

// What apir_backend_dispatcher returns to the component, which adds 4 for the guest.
enum class DispatchCode : uint32_t {
    ok = 0, // carried out
    failed = 1, // bad handle, unknown resource, range beyond, undecodable graph
    unknown = 6, // no such call
};

// State of a command ring.
enum class RingState : uint32_t {
    offered = 0, // laid out by the guest, not yet accepted
    open = 1, // the worker takes commands from it
    closed = 2, // the worker found nonsense in it and takes no more; commands in it are lost
    dead = 3, // the worker has ended; commands in it and under way are lost
};

// ggml's kinds of device.
enum class DeviceType : uint32_t {
    cpu = 0, // system memory
    gpu = 1, // dedicated memory
    igpu = 2, // integrated, system memory
    accel = 3, // to be used together with the CPU
    meta = 4, // made of several devices
};

// ggml_status of a graph.
enum class GraphStatus : int32_t {
    aborted = 1, // ended by the abort callback
    ok = 0, // computed
    failed = -1, // not computed
    alloc_failed = -2, // out of memory
};

// Extensions, as bits of a negotiation.
enum class Extension : uint64_t {
    liveness = uint64_t{1} << 0, // Every command gets a reply: worker_lost within 1 s of the end of the process that serves the context. It is ended when neither a command nor a node of a graph was finished for the component's stall limit. So a guest needs no limit of its own on a graph.
    wide_shapes = uint64_t{1} << 1, // Tensor records with dimensions and strides of 64 bits, in calls 66 to 71. A host library may bound what it computes: ours takes dimensions up to 2^31 - 513 and strides up to 2^48.
    devices = uint64_t{1} << 2, // All devices of the host library, up to max_devices: on_device addresses a call to one of them. Without it, and in calls not so wrapped, device 0 is meant.
    ring = uint64_t{1} << 3, // Commands go through a ring in a shared resource that the worker looks at while there is work; EXECBUFFER remains as its doorbell and for whoever has no ring. Replies come as ever. protocol/RING.md tells all of it.
    graph_ids = uint64_t{1} << 4, // A graph is sent once and computed again by its number (calls 80 to 82). The host keeps it, decoded and checked, until the guest says that it is dropped, a buffer that it refers to is freed, or the context ends; a host that has no more room for graphs computes without keeping.
    device_summary = uint64_t{1} << 5, // All that is constant about a device and its default buffer type in one call (83).
    batch = uint64_t{1} << 6, // Several calls in one command (84), with small tensor data in the command itself (85): what a guest does not have to have an answer to goes along with the next call.
    asynchronous = uint64_t{1} << 7, // A guest may have many commands on their way, each with its own reply resource: the component takes them all and carries them out in the order of submission. So a guest computes and transfers without waiting, and its events are places in that order.
    timing = uint64_t{1} << 8, // The last reply_timing_size bytes of the reply resource tell of each Forward call behind the negotiation how long it waited on the host and how long it was carried out: two u64, in nanoseconds, as `reply_timing` has them, written before `notify`. The reply itself ends before them.
    bunched_fences = uint64_t{1} << 9, // Fences of a context's unawaited_ring are completed late and in bunches, within some 15 ms: they say nothing of a command. A submission without a fence is answered with an interrupt as soon as it was taken; those that are fenced there get one for many.
    pipes = uint64_t{1} << 10, // Tensor data goes through a ring of bytes in a data resource that one side fills while the other empties it (calls 86 and 87): one command for all of it, however much there is. protocol/PIPES.md tells all of it. A host library has it only behind a component that looks after a call of any length and serves no other context meanwhile.
    buffer_base = uint64_t{1} << 11, // A buffer is made, and its base told, by one call (88): ggml asks for the base of every buffer at once.
};

struct NamedExtension {
    Extension extension;
    const char *name;
};
inline constexpr std::array<NamedExtension, 12> all_extensions = {{
    {Extension::liveness, "liveness"},
    {Extension::wide_shapes, "wide_shapes"},
    {Extension::devices, "devices"},
    {Extension::ring, "ring"},
    {Extension::graph_ids, "graph_ids"},
    {Extension::device_summary, "device_summary"},
    {Extension::batch, "batch"},
    {Extension::asynchronous, "asynchronous"},
    {Extension::timing, "timing"},
    {Extension::bunched_fences, "bunched_fences"},
    {Extension::pipes, "pipes"},
    {Extension::buffer_base, "buffer_base"},
}};
inline constexpr uint64_t component_extensions = uint64_t(Extension::liveness) | uint64_t(Extension::ring) | uint64_t(Extension::asynchronous) | uint64_t(Extension::timing) | uint64_t(Extension::bunched_fences);
inline constexpr uint64_t host_library_extensions = uint64_t(Extension::wide_shapes) | uint64_t(Extension::devices) | uint64_t(Extension::graph_ids) | uint64_t(Extension::device_summary) | uint64_t(Extension::batch) | uint64_t(Extension::pipes) | uint64_t(Extension::buffer_base);

// Forward calls.
enum class Call : uint32_t {
    device_get_device_count = 0, // Number of devices of the host library. All calls of 0.2 address device 0, whatever it is.
    device_get_count = 1, // The same as device_get_device_count.
    device_get_name = 2, // Name of the host's device. The guest, not the host, puts "[virtgpu] " before it.
    device_get_description = 3, // Description of the host's device.
    device_get_type = 4, // Kind of the host's device.
    device_get_memory = 5, // Memory of the host's device, read anew each time.
    device_supports_op = 6, // Whether the host's device can compute an op.
    device_get_buffer_type = 7, // The device's default buffer type.
    device_get_props = 8, // What the device can. The guest zeroes bytes 4 to 23 of the reply resource first, so that a missing fifth item reads false.
    device_buffer_from_ptr = 9, // A buffer that lives in a shared resource. The guest frees it before it closes the resource.
    buffer_type_get_name = 10, // Name of a buffer type.
    buffer_type_get_alignment = 11, // Alignment of tensors in buffers of a type.
    buffer_type_get_max_size = 12, // Largest buffer of a type.
    buffer_type_is_host = 13, // Always false: what is the host's memory is not the guest's.
    buffer_type_alloc_buffer = 14, // Allocates a buffer on the host. It lives until buffer_free_buffer or the end of the context.
    buffer_type_get_alloc_size = 15, // Bytes that a tensor takes in a buffer of a type, padding included.
    buffer_get_base = 16, // Base of a buffer in the guest's eyes: a number, made up by our host library, as aligned as the real one is, and not 0.
    buffer_set_tensor = 17, // Copies bytes from offset 0 of a resource into a tensor.
    buffer_get_tensor = 18, // Copies bytes of a tensor to offset 0 of a resource.
    buffer_cpy_tensor = 19, // Copies a tensor to another on the host. The source's buffer may be a foreign one: then the answer is false.
    buffer_clear = 20, // Fills a buffer with one byte.
    buffer_free_buffer = 21, // Frees a buffer; its handle is never given again. The guest waits for the reply before it closes a shared resource.
    backend_graph_compute = 22, // Computes the graph that lies at offset 0 of a resource.
    negotiate = 64, // Offers extensions; asked once, after LoadLibrary. A peer without extensions refuses, and then none is used.
    on_device = 65, // Carries out another call on the device that it names; reply and return code are that call's. Only calls that address a device need it: 2 to 9, 22, 66, 71 and 80 to 83. Handles say by themselves where they belong. Neither itself nor negotiate may be wrapped.
    wide_supports_op = 66, // As device_supports_op. Sources keep their places: one that is missing in between is told. The op's view_offs is told. Of its sources, whose view_src is not, it is 0 where it is a multiple of the alignment of the device's buffer type, and may be what is left of it by that where the alignment is a whole number of elements.
    wide_get_alloc_size = 67, // As buffer_type_get_alloc_size.
    wide_set_tensor = 68, // As buffer_set_tensor.
    wide_get_tensor = 69, // As buffer_get_tensor.
    wide_cpy_tensor = 70, // As buffer_cpy_tensor.
    wide_graph_compute = 71, // As backend_graph_compute.
    ring_create = 72, // Offers a command ring that the guest has laid out in a resource. The worker takes commands from it from this call's reply on, until the resource is closed. A context has at most one; a second is refused while there is one. Comes by EXECBUFFER.
    ring_kick = 73, // The doorbell: wakes a worker that sleeps over its ring. Comes by EXECBUFFER, its reply resource is 0, and it gets no reply.
    graph_keep = 80, // As backend_graph_compute or wide_graph_compute, and the host keeps the graph for graph_run.
    graph_run = 81, // Computes a kept graph again, on the device that it was kept for.
    graph_patch = 82, // Changes records of a kept graph, checks the whole graph again and computes it. A change that is refused ends the kept graph.
    device_summary = 83, // What calls 2 to 5, 7, 8 and 10 to 12 say, of a device and its default buffer type.
    batch = 84, // Carries out several calls, one after the other, up to the first that fails, whose return code is this call's. The reply is the last one's; the others' are dropped. Ours has room for 24 bytes of a reply that is dropped: a call with a longer one fails, and the batch with it.
    set_tensor_inline = 85, // As buffer_set_tensor, with the bytes in the command.
    pipe_set_tensor = 86, // As wide_set_tensor, the bytes out of a pipe that the guest fills from when it sends this call on. The reply comes when all were taken.
    pipe_get_tensor = 87, // As wide_get_tensor, the bytes into a pipe that the guest empties from when it sends this call on. The reply comes when all were put in.
    alloc_with_base = 88, // As buffer_type_alloc_buffer, and then as buffer_get_base.
};

inline constexpr std::array all_calls = {
    Call::device_get_device_count,
    Call::device_get_count,
    Call::device_get_name,
    Call::device_get_description,
    Call::device_get_type,
    Call::device_get_memory,
    Call::device_supports_op,
    Call::device_get_buffer_type,
    Call::device_get_props,
    Call::device_buffer_from_ptr,
    Call::buffer_type_get_name,
    Call::buffer_type_get_alignment,
    Call::buffer_type_get_max_size,
    Call::buffer_type_is_host,
    Call::buffer_type_alloc_buffer,
    Call::buffer_type_get_alloc_size,
    Call::buffer_get_base,
    Call::buffer_set_tensor,
    Call::buffer_get_tensor,
    Call::buffer_cpy_tensor,
    Call::buffer_clear,
    Call::buffer_free_buffer,
    Call::backend_graph_compute,
    Call::negotiate,
    Call::on_device,
    Call::wide_supports_op,
    Call::wide_get_alloc_size,
    Call::wide_set_tensor,
    Call::wide_get_tensor,
    Call::wide_cpy_tensor,
    Call::wide_graph_compute,
    Call::ring_create,
    Call::ring_kick,
    Call::graph_keep,
    Call::graph_run,
    Call::graph_patch,
    Call::device_summary,
    Call::batch,
    Call::set_tensor_inline,
    Call::pipe_set_tensor,
    Call::pipe_get_tensor,
    Call::alloc_with_base,
};

// Name of a Forward call; "unknown" for a number that no call has.
constexpr const char *call_name(uint32_t number) {
    switch (number) {
    case 0: return "device_get_device_count";
    case 1: return "device_get_count";
    case 2: return "device_get_name";
    case 3: return "device_get_description";
    case 4: return "device_get_type";
    case 5: return "device_get_memory";
    case 6: return "device_supports_op";
    case 7: return "device_get_buffer_type";
    case 8: return "device_get_props";
    case 9: return "device_buffer_from_ptr";
    case 10: return "buffer_type_get_name";
    case 11: return "buffer_type_get_alignment";
    case 12: return "buffer_type_get_max_size";
    case 13: return "buffer_type_is_host";
    case 14: return "buffer_type_alloc_buffer";
    case 15: return "buffer_type_get_alloc_size";
    case 16: return "buffer_get_base";
    case 17: return "buffer_set_tensor";
    case 18: return "buffer_get_tensor";
    case 19: return "buffer_cpy_tensor";
    case 20: return "buffer_clear";
    case 21: return "buffer_free_buffer";
    case 22: return "backend_graph_compute";
    case 64: return "negotiate";
    case 65: return "on_device";
    case 66: return "wide_supports_op";
    case 67: return "wide_get_alloc_size";
    case 68: return "wide_set_tensor";
    case 69: return "wide_get_tensor";
    case 70: return "wide_cpy_tensor";
    case 71: return "wide_graph_compute";
    case 72: return "ring_create";
    case 73: return "ring_kick";
    case 80: return "graph_keep";
    case 81: return "graph_run";
    case 82: return "graph_patch";
    case 83: return "device_summary";
    case 84: return "batch";
    case 85: return "set_tensor_inline";
    case 86: return "pipe_set_tensor";
    case 87: return "pipe_get_tensor";
    case 88: return "alloc_with_base";
    default: return "unknown";
    }
}

// A tensor on the wire. Bytes 12 to 15, 296 to 303 and those behind the name's NUL are stale. In calls 17 to 19 src, view_src and view_offs are dangling.
struct TensorRecord {
    static constexpr size_t wire_size = 304;
    uint64_t id = {}; // unique and not 0; 0 stands for none where it is referred to
    uint32_t type = {}; // ggml_type
    uint64_t buffer = {}; // the host's handle; 0: not allocated
    uint32_t ne[4] = {}; // elements per dimension
    uint32_t nb[4] = {}; // stride per dimension, in bytes
    uint32_t op = {}; // ggml_op
    int32_t op_params[16] = {}; // parameters, as the op lays them out
    int32_t flags = {}; // GGML_TENSOR_FLAG_*
    uint64_t src[10] = {}; // ids of the sources
    uint64_t view_src = {}; // id of the tensor that this one looks into
    uint64_t view_offs = {}; // where in it, in bytes
    uint64_t data = {}; // guest data pointer less the guest's base of the buffer
    char name[64] = {}; // NUL-terminated
};

inline void write(Writer &writer, const TensorRecord &value) {
    uint8_t *at = writer.room(TensorRecord::wire_size);
    if (at == nullptr) return;
    std::memset(at, 0, TensorRecord::wire_size);
    std::memcpy(at + 0, &value.id, sizeof value.id);
    std::memcpy(at + 8, &value.type, sizeof value.type);
    std::memcpy(at + 16, &value.buffer, sizeof value.buffer);
    std::memcpy(at + 24, &value.ne, sizeof value.ne);
    std::memcpy(at + 40, &value.nb, sizeof value.nb);
    std::memcpy(at + 56, &value.op, sizeof value.op);
    std::memcpy(at + 60, &value.op_params, sizeof value.op_params);
    std::memcpy(at + 124, &value.flags, sizeof value.flags);
    std::memcpy(at + 128, &value.src, sizeof value.src);
    std::memcpy(at + 208, &value.view_src, sizeof value.view_src);
    std::memcpy(at + 216, &value.view_offs, sizeof value.view_offs);
    std::memcpy(at + 224, &value.data, sizeof value.data);
    // Up to the NUL: what is behind it is stale and stays here.
    copy_name(at + 232, value.name);
}

inline bool read(Reader &reader, TensorRecord &value) {
    value = TensorRecord{};
    const uint8_t *at = reader.bytes(TensorRecord::wire_size);
    if (at == nullptr) return false;
    std::memcpy(&value.id, at + 0, sizeof value.id);
    std::memcpy(&value.type, at + 8, sizeof value.type);
    std::memcpy(&value.buffer, at + 16, sizeof value.buffer);
    std::memcpy(&value.ne, at + 24, sizeof value.ne);
    std::memcpy(&value.nb, at + 40, sizeof value.nb);
    std::memcpy(&value.op, at + 56, sizeof value.op);
    std::memcpy(&value.op_params, at + 60, sizeof value.op_params);
    std::memcpy(&value.flags, at + 124, sizeof value.flags);
    std::memcpy(&value.src, at + 128, sizeof value.src);
    std::memcpy(&value.view_src, at + 208, sizeof value.view_src);
    std::memcpy(&value.view_offs, at + 216, sizeof value.view_offs);
    std::memcpy(&value.data, at + 224, sizeof value.data);
    std::memcpy(&value.name, at + 232, sizeof value.name);
    value.name[sizeof value.name - 1] = 0;
    return true;
}

// struct ggml_tensor of ggml 0.27 as it lies in the guest's memory. Its pointers are the guest's and never followed.
struct RawTensor {
    static constexpr size_t wire_size = 336;
    uint32_t type = {}; // ggml_type
    uint64_t buffer = {}; // guest pointer
    int64_t ne[4] = {}; // elements per dimension
    uint64_t nb[4] = {}; // stride per dimension, in bytes
    uint32_t op = {}; // ggml_op
    int32_t op_params[16] = {}; // parameters, as the op lays them out
    int32_t flags = {}; // GGML_TENSOR_FLAG_*
    uint64_t src[10] = {}; // guest pointers
    uint64_t view_src = {}; // guest pointer
    uint64_t view_offs = {}; // where in the view source, in bytes
    uint64_t data = {}; // guest pointer
    char name[64] = {}; // NUL-terminated
    uint64_t extra = {}; // guest pointer
};

inline void write(Writer &writer, const RawTensor &value) {
    uint8_t *at = writer.room(RawTensor::wire_size);
    if (at == nullptr) return;
    std::memset(at, 0, RawTensor::wire_size);
    std::memcpy(at + 0, &value.type, sizeof value.type);
    std::memcpy(at + 8, &value.buffer, sizeof value.buffer);
    std::memcpy(at + 16, &value.ne, sizeof value.ne);
    std::memcpy(at + 48, &value.nb, sizeof value.nb);
    std::memcpy(at + 80, &value.op, sizeof value.op);
    std::memcpy(at + 84, &value.op_params, sizeof value.op_params);
    std::memcpy(at + 148, &value.flags, sizeof value.flags);
    std::memcpy(at + 152, &value.src, sizeof value.src);
    std::memcpy(at + 232, &value.view_src, sizeof value.view_src);
    std::memcpy(at + 240, &value.view_offs, sizeof value.view_offs);
    std::memcpy(at + 248, &value.data, sizeof value.data);
    // Up to the NUL: what is behind it is stale and stays here.
    copy_name(at + 256, value.name);
    std::memcpy(at + 320, &value.extra, sizeof value.extra);
}

inline bool read(Reader &reader, RawTensor &value) {
    value = RawTensor{};
    const uint8_t *at = reader.bytes(RawTensor::wire_size);
    if (at == nullptr) return false;
    std::memcpy(&value.type, at + 0, sizeof value.type);
    std::memcpy(&value.buffer, at + 8, sizeof value.buffer);
    std::memcpy(&value.ne, at + 16, sizeof value.ne);
    std::memcpy(&value.nb, at + 48, sizeof value.nb);
    std::memcpy(&value.op, at + 80, sizeof value.op);
    std::memcpy(&value.op_params, at + 84, sizeof value.op_params);
    std::memcpy(&value.flags, at + 148, sizeof value.flags);
    std::memcpy(&value.src, at + 152, sizeof value.src);
    std::memcpy(&value.view_src, at + 232, sizeof value.view_src);
    std::memcpy(&value.view_offs, at + 240, sizeof value.view_offs);
    std::memcpy(&value.data, at + 248, sizeof value.data);
    std::memcpy(&value.name, at + 256, sizeof value.name);
    value.name[sizeof value.name - 1] = 0;
    std::memcpy(&value.extra, at + 320, sizeof value.extra);
    return true;
}

// A tensor with 64-bit shape (extension wide_shapes). Otherwise as tensor_record.
struct WideTensorRecord {
    static constexpr size_t wire_size = 328;
    uint64_t id = {}; // unique and not 0; 0 stands for none where it is referred to
    uint32_t type = {}; // ggml_type
    uint32_t op = {}; // ggml_op
    uint64_t buffer = {}; // the host's handle; 0: not allocated
    int64_t ne[4] = {}; // elements per dimension
    uint64_t nb[4] = {}; // stride per dimension, in bytes
    int32_t op_params[16] = {}; // parameters, as the op lays them out
    int32_t flags = {}; // GGML_TENSOR_FLAG_*
    uint64_t src[10] = {}; // ids of the sources; missing ones in between are 0
    uint64_t view_src = {}; // id of the tensor that this one looks into
    uint64_t view_offs = {}; // where in it, in bytes
    uint64_t data = {}; // guest data pointer less the guest's base of the buffer
    char name[64] = {}; // NUL-terminated
};

inline void write(Writer &writer, const WideTensorRecord &value) {
    uint8_t *at = writer.room(WideTensorRecord::wire_size);
    if (at == nullptr) return;
    std::memset(at, 0, WideTensorRecord::wire_size);
    std::memcpy(at + 0, &value.id, sizeof value.id);
    std::memcpy(at + 8, &value.type, sizeof value.type);
    std::memcpy(at + 12, &value.op, sizeof value.op);
    std::memcpy(at + 16, &value.buffer, sizeof value.buffer);
    std::memcpy(at + 24, &value.ne, sizeof value.ne);
    std::memcpy(at + 56, &value.nb, sizeof value.nb);
    std::memcpy(at + 88, &value.op_params, sizeof value.op_params);
    std::memcpy(at + 152, &value.flags, sizeof value.flags);
    std::memcpy(at + 160, &value.src, sizeof value.src);
    std::memcpy(at + 240, &value.view_src, sizeof value.view_src);
    std::memcpy(at + 248, &value.view_offs, sizeof value.view_offs);
    std::memcpy(at + 256, &value.data, sizeof value.data);
    // Up to the NUL: what is behind it is stale and stays here.
    copy_name(at + 264, value.name);
}

inline bool read(Reader &reader, WideTensorRecord &value) {
    value = WideTensorRecord{};
    const uint8_t *at = reader.bytes(WideTensorRecord::wire_size);
    if (at == nullptr) return false;
    std::memcpy(&value.id, at + 0, sizeof value.id);
    std::memcpy(&value.type, at + 8, sizeof value.type);
    std::memcpy(&value.op, at + 12, sizeof value.op);
    std::memcpy(&value.buffer, at + 16, sizeof value.buffer);
    std::memcpy(&value.ne, at + 24, sizeof value.ne);
    std::memcpy(&value.nb, at + 56, sizeof value.nb);
    std::memcpy(&value.op_params, at + 88, sizeof value.op_params);
    std::memcpy(&value.flags, at + 152, sizeof value.flags);
    std::memcpy(&value.src, at + 160, sizeof value.src);
    std::memcpy(&value.view_src, at + 240, sizeof value.view_src);
    std::memcpy(&value.view_offs, at + 248, sizeof value.view_offs);
    std::memcpy(&value.data, at + 256, sizeof value.data);
    std::memcpy(&value.name, at + 264, sizeof value.name);
    value.name[sizeof value.name - 1] = 0;
    return true;
}

} // namespace apir

#include "op_record.hpp"

namespace apir {

// What every command begins with. For Forward, `flags` is the call's number.
struct CommandHeader {
    uint32_t type{}; // command_type, plus venus_command_offset unless the guest chose the APIR capset
    uint32_t flags{}; // number of the call; 0 and ignored for the other commands
    uint32_t reply_resource{}; // resource that gets the reply
};

inline void write(Writer &writer, const CommandHeader &value) {
    writer.u32(value.type);
    writer.u32(value.flags);
    writer.u32(value.reply_resource);
}

inline bool read(Reader &reader, CommandHeader &value) {
    value = CommandHeader{};
    value.type = reader.u32();
    value.flags = reader.u32();
    value.reply_resource = reader.u32();
    return !reader.failed();
}

// Request and reply of HandShake.
struct Version {
    uint32_t major{}; // another major is refused
    uint32_t minor{}; // another minor is a warning
};

inline void write(Writer &writer, const Version &value) {
    writer.u32(value.major);
    writer.u32(value.minor);
}

inline bool read(Reader &reader, Version &value) {
    value = Version{};
    value.major = reader.u32();
    value.minor = reader.u32();
    return !reader.failed();
}

// Data of the APIR capset. Nothing may be required of it: on capset 4 these bytes may be Venus's.
struct Capset {
    uint32_t version{}; // 1
    uint32_t supports_blob_resources{}; // 1
    uint32_t reserved0{}; // 0
    uint32_t reserved1{}; // 0
    uint32_t reserved2{}; // 0
    uint32_t reserved3{}; // 0
};

inline void write(Writer &writer, const Capset &value) {
    writer.u32(value.version);
    writer.u32(value.supports_blob_resources);
    writer.u32(value.reserved0);
    writer.u32(value.reserved1);
    writer.u32(value.reserved2);
    writer.u32(value.reserved3);
}

inline bool read(Reader &reader, Capset &value) {
    value = Capset{};
    value.version = reader.u32();
    value.supports_blob_resources = reader.u32();
    value.reserved0 = reader.u32();
    value.reserved1 = reader.u32();
    value.reserved2 = reader.u32();
    value.reserved3 = reader.u32();
    return !reader.failed();
}

// Content of the data resource of backend_graph_compute: the nodes, their sources and what those are views of, each once.
struct Graph {
    std::vector<uint64_t> nodes{}; // ids of the nodes in the order of computation
    std::vector<TensorRecord> tensors{}; // nodes, their sources and view sources, leaves included
};

inline void write(Writer &writer, const Graph &value) {
    writer.u32(static_cast<uint32_t>(value.nodes.size()));
    for (const auto &item : value.nodes) writer.u64(item);
    writer.u32(static_cast<uint32_t>(value.tensors.size()));
    for (const auto &item : value.tensors) write(writer, item);
}

inline bool read(Reader &reader, Graph &value) {
    value = Graph{};
    value.nodes.resize(reader.count(8));
    for (auto &item : value.nodes) item = reader.u64();
    value.tensors.resize(reader.count(304));
    for (auto &item : value.tensors) read(reader, item);
    return !reader.failed();
}

// Content of the data resource of wide_graph_compute.
struct WideGraph {
    std::vector<uint64_t> nodes{}; // ids of the nodes in the order of computation
    std::vector<WideTensorRecord> tensors{}; // nodes, their sources and view sources, leaves included
};

inline void write(Writer &writer, const WideGraph &value) {
    writer.u32(static_cast<uint32_t>(value.nodes.size()));
    for (const auto &item : value.nodes) writer.u64(item);
    writer.u32(static_cast<uint32_t>(value.tensors.size()));
    for (const auto &item : value.tensors) write(writer, item);
}

inline bool read(Reader &reader, WideGraph &value) {
    value = WideGraph{};
    value.nodes.resize(reader.count(8));
    for (auto &item : value.nodes) item = reader.u64();
    value.tensors.resize(reader.count(328));
    for (auto &item : value.tensors) read(reader, item);
    return !reader.failed();
}

// What the end of a reply resource holds with the extension timing.
struct ReplyTiming {
    uint64_t queue_ns{}; // from the submission, or from when it was seen in the ring, until the worker took it up
    uint64_t compute_ns{}; // until the reply was complete
};

inline void write(Writer &writer, const ReplyTiming &value) {
    writer.u64(value.queue_ns);
    writer.u64(value.compute_ns);
}

inline bool read(Reader &reader, ReplyTiming &value) {
    value = ReplyTiming{};
    value.queue_ns = reader.u64();
    value.compute_ns = reader.u64();
    return !reader.failed();
}

// Content of the data resource of graph_patch, for a graph that was sent as a `graph`: what replaces the records of which places.
struct GraphChanges {
    std::vector<uint32_t> positions{}; // places in the list of tensors, from 0; as many as there are tensors here
    std::vector<TensorRecord> tensors{}; // the records that stand there from now on; ids stay what they were
};

inline void write(Writer &writer, const GraphChanges &value) {
    writer.u32(static_cast<uint32_t>(value.positions.size()));
    for (const auto &item : value.positions) writer.u32(item);
    writer.u32(static_cast<uint32_t>(value.tensors.size()));
    for (const auto &item : value.tensors) write(writer, item);
}

inline bool read(Reader &reader, GraphChanges &value) {
    value = GraphChanges{};
    value.positions.resize(reader.count(4));
    for (auto &item : value.positions) item = reader.u32();
    value.tensors.resize(reader.count(304));
    for (auto &item : value.tensors) read(reader, item);
    return !reader.failed();
}

// The same for a graph that was sent as a `wide_graph`.
struct WideGraphChanges {
    std::vector<uint32_t> positions{}; // places in the list of tensors, from 0; as many as there are tensors here
    std::vector<WideTensorRecord> tensors{}; // the records that stand there from now on; ids stay what they were
};

inline void write(Writer &writer, const WideGraphChanges &value) {
    writer.u32(static_cast<uint32_t>(value.positions.size()));
    for (const auto &item : value.positions) writer.u32(item);
    writer.u32(static_cast<uint32_t>(value.tensors.size()));
    for (const auto &item : value.tensors) write(writer, item);
}

inline bool read(Reader &reader, WideGraphChanges &value) {
    value = WideGraphChanges{};
    value.positions.resize(reader.count(4));
    for (auto &item : value.positions) item = reader.u32();
    value.tensors.resize(reader.count(328));
    for (auto &item : value.tensors) read(reader, item);
    return !reader.failed();
}

// What each call of a batch begins with.
struct BatchedCall {
    uint32_t device{}; // that it addresses, as on_device has it
    uint32_t call{}; // its number; neither batch, on_device nor negotiate
    uint32_t size{}; // bytes of its request, which follows, padded
};

inline void write(Writer &writer, const BatchedCall &value) {
    writer.u32(value.device);
    writer.u32(value.call);
    writer.u32(value.size);
}

inline bool read(Reader &reader, BatchedCall &value) {
    value = BatchedCall{};
    value.device = reader.u32();
    value.call = reader.u32();
    value.size = reader.u32();
    return !reader.failed();
}

// Request of call 0. Number of devices of the host library. All calls of 0.2 address device 0, whatever it is.
struct DeviceGetDeviceCountRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const DeviceGetDeviceCountRequest &value) {
}

inline bool read(Reader &reader, DeviceGetDeviceCountRequest &value) {
    value = DeviceGetDeviceCountRequest{};
    return !reader.failed();
}

// Reply of call 0.
struct DeviceGetDeviceCountReply {
    int32_t count{}; // devices
};

inline void write(Writer &writer, const DeviceGetDeviceCountReply &value) {
    writer.i32(value.count);
}

inline bool read(Reader &reader, DeviceGetDeviceCountReply &value) {
    value = DeviceGetDeviceCountReply{};
    value.count = reader.i32();
    return !reader.failed();
}

// Request of call 1. The same as device_get_device_count.
struct DeviceGetCountRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const DeviceGetCountRequest &value) {
}

inline bool read(Reader &reader, DeviceGetCountRequest &value) {
    value = DeviceGetCountRequest{};
    return !reader.failed();
}

// Reply of call 1.
struct DeviceGetCountReply {
    int32_t count{}; // devices
};

inline void write(Writer &writer, const DeviceGetCountReply &value) {
    writer.i32(value.count);
}

inline bool read(Reader &reader, DeviceGetCountReply &value) {
    value = DeviceGetCountReply{};
    value.count = reader.i32();
    return !reader.failed();
}

// Request of call 2. Name of the host's device. The guest, not the host, puts "[virtgpu] " before it.
struct DeviceGetNameRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const DeviceGetNameRequest &value) {
}

inline bool read(Reader &reader, DeviceGetNameRequest &value) {
    value = DeviceGetNameRequest{};
    return !reader.failed();
}

// Reply of call 2.
struct DeviceGetNameReply {
    std::string name{}; // name
};

inline void write(Writer &writer, const DeviceGetNameReply &value) {
    writer.string(value.name);
}

inline bool read(Reader &reader, DeviceGetNameReply &value) {
    value = DeviceGetNameReply{};
    value.name = reader.string(max_string);
    return !reader.failed();
}

// Request of call 3. Description of the host's device.
struct DeviceGetDescriptionRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const DeviceGetDescriptionRequest &value) {
}

inline bool read(Reader &reader, DeviceGetDescriptionRequest &value) {
    value = DeviceGetDescriptionRequest{};
    return !reader.failed();
}

// Reply of call 3.
struct DeviceGetDescriptionReply {
    std::string description{}; // description
};

inline void write(Writer &writer, const DeviceGetDescriptionReply &value) {
    writer.string(value.description);
}

inline bool read(Reader &reader, DeviceGetDescriptionReply &value) {
    value = DeviceGetDescriptionReply{};
    value.description = reader.string(max_string);
    return !reader.failed();
}

// Request of call 4. Kind of the host's device.
struct DeviceGetTypeRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const DeviceGetTypeRequest &value) {
}

inline bool read(Reader &reader, DeviceGetTypeRequest &value) {
    value = DeviceGetTypeRequest{};
    return !reader.failed();
}

// Reply of call 4.
struct DeviceGetTypeReply {
    uint32_t type{}; // device_type
};

inline void write(Writer &writer, const DeviceGetTypeReply &value) {
    writer.u32(value.type);
}

inline bool read(Reader &reader, DeviceGetTypeReply &value) {
    value = DeviceGetTypeReply{};
    value.type = reader.u32();
    return !reader.failed();
}

// Request of call 5. Memory of the host's device, read anew each time.
struct DeviceGetMemoryRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const DeviceGetMemoryRequest &value) {
}

inline bool read(Reader &reader, DeviceGetMemoryRequest &value) {
    value = DeviceGetMemoryRequest{};
    return !reader.failed();
}

// Reply of call 5.
struct DeviceGetMemoryReply {
    uint64_t free{}; // bytes
    uint64_t total{}; // bytes
};

inline void write(Writer &writer, const DeviceGetMemoryReply &value) {
    writer.u64(value.free);
    writer.u64(value.total);
}

inline bool read(Reader &reader, DeviceGetMemoryReply &value) {
    value = DeviceGetMemoryReply{};
    value.free = reader.u64();
    value.total = reader.u64();
    return !reader.failed();
}

// Request of call 6. Whether the host's device can compute an op.
struct DeviceSupportsOpRequest {
    OpRecord op{}; // the op with its sources
};

inline void write(Writer &writer, const DeviceSupportsOpRequest &value) {
    write(writer, value.op);
}

inline bool read(Reader &reader, DeviceSupportsOpRequest &value) {
    value = DeviceSupportsOpRequest{};
    read(reader, value.op);
    return !reader.failed();
}

// Reply of call 6.
struct DeviceSupportsOpReply {
    bool supported{}; // true: it can
};

inline void write(Writer &writer, const DeviceSupportsOpReply &value) {
    writer.boolean(value.supported);
}

inline bool read(Reader &reader, DeviceSupportsOpReply &value) {
    value = DeviceSupportsOpReply{};
    value.supported = reader.boolean();
    return !reader.failed();
}

// Request of call 7. The device's default buffer type.
struct DeviceGetBufferTypeRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const DeviceGetBufferTypeRequest &value) {
}

inline bool read(Reader &reader, DeviceGetBufferTypeRequest &value) {
    value = DeviceGetBufferTypeRequest{};
    return !reader.failed();
}

// Reply of call 7.
struct DeviceGetBufferTypeReply {
    uint64_t buft{}; // handle, valid until the context ends
};

inline void write(Writer &writer, const DeviceGetBufferTypeReply &value) {
    writer.u64(value.buft);
}

inline bool read(Reader &reader, DeviceGetBufferTypeReply &value) {
    value = DeviceGetBufferTypeReply{};
    value.buft = reader.u64();
    return !reader.failed();
}

// Request of call 8. What the device can. The guest zeroes bytes 4 to 23 of the reply resource first, so that a missing fifth item reads false.
struct DeviceGetPropsRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const DeviceGetPropsRequest &value) {
}

inline bool read(Reader &reader, DeviceGetPropsRequest &value) {
    value = DeviceGetPropsRequest{};
    return !reader.failed();
}

// Reply of call 8.
struct DeviceGetPropsReply {
    bool asynchronous{}; // asynchronous operations
    bool host_buffer{}; // pinned host buffers
    bool buffer_from_host_ptr{}; // buffers from pointers: then device_buffer_from_ptr may be used
    bool events{}; // event synchronisation
    bool mmap_support{}; // buffers from mapped files
};

inline void write(Writer &writer, const DeviceGetPropsReply &value) {
    writer.boolean(value.asynchronous);
    writer.boolean(value.host_buffer);
    writer.boolean(value.buffer_from_host_ptr);
    writer.boolean(value.events);
    writer.boolean(value.mmap_support);
}

inline bool read(Reader &reader, DeviceGetPropsReply &value) {
    value = DeviceGetPropsReply{};
    value.asynchronous = reader.boolean();
    value.host_buffer = reader.boolean();
    value.buffer_from_host_ptr = reader.boolean();
    value.events = reader.boolean();
    if (reader.remaining() != 0) value.mmap_support = reader.boolean();
    return !reader.failed();
}

// Request of call 9. A buffer that lives in a shared resource. The guest frees it before it closes the resource.
struct DeviceBufferFromPtrRequest {
    uint32_t resource{}; // shared resource
    uint64_t size{}; // bytes of it
    uint64_t max_tensor_size{}; // bytes; advice
};

inline void write(Writer &writer, const DeviceBufferFromPtrRequest &value) {
    writer.u32(value.resource);
    writer.u64(value.size);
    writer.u64(value.max_tensor_size);
}

inline bool read(Reader &reader, DeviceBufferFromPtrRequest &value) {
    value = DeviceBufferFromPtrRequest{};
    value.resource = reader.u32();
    value.size = reader.u64();
    value.max_tensor_size = reader.u64();
    return !reader.failed();
}

// Reply of call 9.
struct DeviceBufferFromPtrReply {
    uint64_t buffer{}; // handle; 0: refused
    uint64_t buft{}; // handle of its type
};

inline void write(Writer &writer, const DeviceBufferFromPtrReply &value) {
    writer.u64(value.buffer);
    writer.u64(value.buft);
}

inline bool read(Reader &reader, DeviceBufferFromPtrReply &value) {
    value = DeviceBufferFromPtrReply{};
    value.buffer = reader.u64();
    value.buft = reader.u64();
    return !reader.failed();
}

// Request of call 10. Name of a buffer type.
struct BufferTypeGetNameRequest {
    uint64_t buft{}; // handle
};

inline void write(Writer &writer, const BufferTypeGetNameRequest &value) {
    writer.u64(value.buft);
}

inline bool read(Reader &reader, BufferTypeGetNameRequest &value) {
    value = BufferTypeGetNameRequest{};
    value.buft = reader.u64();
    return !reader.failed();
}

// Reply of call 10.
struct BufferTypeGetNameReply {
    std::string name{}; // name
};

inline void write(Writer &writer, const BufferTypeGetNameReply &value) {
    writer.string(value.name);
}

inline bool read(Reader &reader, BufferTypeGetNameReply &value) {
    value = BufferTypeGetNameReply{};
    value.name = reader.string(max_string);
    return !reader.failed();
}

// Request of call 11. Alignment of tensors in buffers of a type.
struct BufferTypeGetAlignmentRequest {
    uint64_t buft{}; // handle
};

inline void write(Writer &writer, const BufferTypeGetAlignmentRequest &value) {
    writer.u64(value.buft);
}

inline bool read(Reader &reader, BufferTypeGetAlignmentRequest &value) {
    value = BufferTypeGetAlignmentRequest{};
    value.buft = reader.u64();
    return !reader.failed();
}

// Reply of call 11.
struct BufferTypeGetAlignmentReply {
    uint64_t alignment{}; // bytes
};

inline void write(Writer &writer, const BufferTypeGetAlignmentReply &value) {
    writer.u64(value.alignment);
}

inline bool read(Reader &reader, BufferTypeGetAlignmentReply &value) {
    value = BufferTypeGetAlignmentReply{};
    value.alignment = reader.u64();
    return !reader.failed();
}

// Request of call 12. Largest buffer of a type.
struct BufferTypeGetMaxSizeRequest {
    uint64_t buft{}; // handle
};

inline void write(Writer &writer, const BufferTypeGetMaxSizeRequest &value) {
    writer.u64(value.buft);
}

inline bool read(Reader &reader, BufferTypeGetMaxSizeRequest &value) {
    value = BufferTypeGetMaxSizeRequest{};
    value.buft = reader.u64();
    return !reader.failed();
}

// Reply of call 12.
struct BufferTypeGetMaxSizeReply {
    uint64_t max_size{}; // bytes; 2^64 - 1: no maximum
};

inline void write(Writer &writer, const BufferTypeGetMaxSizeReply &value) {
    writer.u64(value.max_size);
}

inline bool read(Reader &reader, BufferTypeGetMaxSizeReply &value) {
    value = BufferTypeGetMaxSizeReply{};
    value.max_size = reader.u64();
    return !reader.failed();
}

// Request of call 13. Always false: what is the host's memory is not the guest's.
struct BufferTypeIsHostRequest {
    uint64_t buft{}; // ignored
};

inline void write(Writer &writer, const BufferTypeIsHostRequest &value) {
    writer.u64(value.buft);
}

inline bool read(Reader &reader, BufferTypeIsHostRequest &value) {
    value = BufferTypeIsHostRequest{};
    value.buft = reader.u64();
    return !reader.failed();
}

// Reply of call 13.
struct BufferTypeIsHostReply {
    bool is_host{}; // false
};

inline void write(Writer &writer, const BufferTypeIsHostReply &value) {
    writer.boolean(value.is_host);
}

inline bool read(Reader &reader, BufferTypeIsHostReply &value) {
    value = BufferTypeIsHostReply{};
    value.is_host = reader.boolean();
    return !reader.failed();
}

// Request of call 14. Allocates a buffer on the host. It lives until buffer_free_buffer or the end of the context.
struct BufferTypeAllocBufferRequest {
    uint64_t buft{}; // handle
    uint64_t size{}; // bytes
};

inline void write(Writer &writer, const BufferTypeAllocBufferRequest &value) {
    writer.u64(value.buft);
    writer.u64(value.size);
}

inline bool read(Reader &reader, BufferTypeAllocBufferRequest &value) {
    value = BufferTypeAllocBufferRequest{};
    value.buft = reader.u64();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 14.
struct BufferTypeAllocBufferReply {
    uint64_t buffer{}; // handle; 0: could not be allocated
};

inline void write(Writer &writer, const BufferTypeAllocBufferReply &value) {
    writer.u64(value.buffer);
}

inline bool read(Reader &reader, BufferTypeAllocBufferReply &value) {
    value = BufferTypeAllocBufferReply{};
    value.buffer = reader.u64();
    return !reader.failed();
}

// Request of call 15. Bytes that a tensor takes in a buffer of a type, padding included.
struct BufferTypeGetAllocSizeRequest {
    uint64_t buft{}; // handle
    OpRecord op{}; // the tensor with its sources
};

inline void write(Writer &writer, const BufferTypeGetAllocSizeRequest &value) {
    writer.u64(value.buft);
    write(writer, value.op);
}

inline bool read(Reader &reader, BufferTypeGetAllocSizeRequest &value) {
    value = BufferTypeGetAllocSizeRequest{};
    value.buft = reader.u64();
    read(reader, value.op);
    return !reader.failed();
}

// Reply of call 15.
struct BufferTypeGetAllocSizeReply {
    uint64_t size{}; // bytes
};

inline void write(Writer &writer, const BufferTypeGetAllocSizeReply &value) {
    writer.u64(value.size);
}

inline bool read(Reader &reader, BufferTypeGetAllocSizeReply &value) {
    value = BufferTypeGetAllocSizeReply{};
    value.size = reader.u64();
    return !reader.failed();
}

// Request of call 16. Base of a buffer in the guest's eyes: a number, made up by our host library, as aligned as the real one is, and not 0.
struct BufferGetBaseRequest {
    uint64_t buffer{}; // handle
};

inline void write(Writer &writer, const BufferGetBaseRequest &value) {
    writer.u64(value.buffer);
}

inline bool read(Reader &reader, BufferGetBaseRequest &value) {
    value = BufferGetBaseRequest{};
    value.buffer = reader.u64();
    return !reader.failed();
}

// Reply of call 16.
struct BufferGetBaseReply {
    uint64_t base{}; // base
};

inline void write(Writer &writer, const BufferGetBaseReply &value) {
    writer.u64(value.base);
}

inline bool read(Reader &reader, BufferGetBaseReply &value) {
    value = BufferGetBaseReply{};
    value.base = reader.u64();
    return !reader.failed();
}

// Request of call 17. Copies bytes from offset 0 of a resource into a tensor.
struct BufferSetTensorRequest {
    uint64_t buffer{}; // handle
    TensorRecord tensor{}; // where to
    uint32_t resource{}; // data resource
    uint64_t offset{}; // within the tensor, in bytes
    uint64_t size{}; // bytes
};

inline void write(Writer &writer, const BufferSetTensorRequest &value) {
    writer.u64(value.buffer);
    write(writer, value.tensor);
    writer.u32(value.resource);
    writer.u64(value.offset);
    writer.u64(value.size);
}

inline bool read(Reader &reader, BufferSetTensorRequest &value) {
    value = BufferSetTensorRequest{};
    value.buffer = reader.u64();
    read(reader, value.tensor);
    value.resource = reader.u32();
    value.offset = reader.u64();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 17.
struct BufferSetTensorReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const BufferSetTensorReply &value) {
}

inline bool read(Reader &reader, BufferSetTensorReply &value) {
    value = BufferSetTensorReply{};
    return !reader.failed();
}

// Request of call 18. Copies bytes of a tensor to offset 0 of a resource.
struct BufferGetTensorRequest {
    uint64_t buffer{}; // handle
    TensorRecord tensor{}; // where from
    uint32_t resource{}; // data resource
    uint64_t offset{}; // within the tensor, in bytes
    uint64_t size{}; // bytes
};

inline void write(Writer &writer, const BufferGetTensorRequest &value) {
    writer.u64(value.buffer);
    write(writer, value.tensor);
    writer.u32(value.resource);
    writer.u64(value.offset);
    writer.u64(value.size);
}

inline bool read(Reader &reader, BufferGetTensorRequest &value) {
    value = BufferGetTensorRequest{};
    value.buffer = reader.u64();
    read(reader, value.tensor);
    value.resource = reader.u32();
    value.offset = reader.u64();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 18.
struct BufferGetTensorReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const BufferGetTensorReply &value) {
}

inline bool read(Reader &reader, BufferGetTensorReply &value) {
    value = BufferGetTensorReply{};
    return !reader.failed();
}

// Request of call 19. Copies a tensor to another on the host. The source's buffer may be a foreign one: then the answer is false.
struct BufferCpyTensorRequest {
    uint64_t buffer{}; // handle of the destination's buffer
    TensorRecord source{}; // where from
    TensorRecord destination{}; // where to
};

inline void write(Writer &writer, const BufferCpyTensorRequest &value) {
    writer.u64(value.buffer);
    write(writer, value.source);
    write(writer, value.destination);
}

inline bool read(Reader &reader, BufferCpyTensorRequest &value) {
    value = BufferCpyTensorRequest{};
    value.buffer = reader.u64();
    read(reader, value.source);
    read(reader, value.destination);
    return !reader.failed();
}

// Reply of call 19.
struct BufferCpyTensorReply {
    bool copied{}; // false: the guest has to copy by itself
};

inline void write(Writer &writer, const BufferCpyTensorReply &value) {
    writer.boolean(value.copied);
}

inline bool read(Reader &reader, BufferCpyTensorReply &value) {
    value = BufferCpyTensorReply{};
    value.copied = reader.boolean();
    return !reader.failed();
}

// Request of call 20. Fills a buffer with one byte.
struct BufferClearRequest {
    uint64_t buffer{}; // handle
    uint8_t value{}; // the byte
};

inline void write(Writer &writer, const BufferClearRequest &value) {
    writer.u64(value.buffer);
    writer.u8(value.value);
}

inline bool read(Reader &reader, BufferClearRequest &value) {
    value = BufferClearRequest{};
    value.buffer = reader.u64();
    value.value = reader.u8();
    return !reader.failed();
}

// Reply of call 20.
struct BufferClearReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const BufferClearReply &value) {
}

inline bool read(Reader &reader, BufferClearReply &value) {
    value = BufferClearReply{};
    return !reader.failed();
}

// Request of call 21. Frees a buffer; its handle is never given again. The guest waits for the reply before it closes a shared resource.
struct BufferFreeBufferRequest {
    uint64_t buffer{}; // handle
};

inline void write(Writer &writer, const BufferFreeBufferRequest &value) {
    writer.u64(value.buffer);
}

inline bool read(Reader &reader, BufferFreeBufferRequest &value) {
    value = BufferFreeBufferRequest{};
    value.buffer = reader.u64();
    return !reader.failed();
}

// Reply of call 21.
struct BufferFreeBufferReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const BufferFreeBufferReply &value) {
}

inline bool read(Reader &reader, BufferFreeBufferReply &value) {
    value = BufferFreeBufferReply{};
    return !reader.failed();
}

// Request of call 22. Computes the graph that lies at offset 0 of a resource.
struct BackendGraphComputeRequest {
    uint32_t resource{}; // data resource with a `graph`
    uint64_t size{}; // bytes of it
};

inline void write(Writer &writer, const BackendGraphComputeRequest &value) {
    writer.u32(value.resource);
    writer.u64(value.size);
}

inline bool read(Reader &reader, BackendGraphComputeRequest &value) {
    value = BackendGraphComputeRequest{};
    value.resource = reader.u32();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 22.
struct BackendGraphComputeReply {
    int32_t status{}; // graph_status
};

inline void write(Writer &writer, const BackendGraphComputeReply &value) {
    writer.i32(value.status);
}

inline bool read(Reader &reader, BackendGraphComputeReply &value) {
    value = BackendGraphComputeReply{};
    value.status = reader.i32();
    return !reader.failed();
}

// Request of call 64. Offers extensions; asked once, after LoadLibrary. A peer without extensions refuses, and then none is used.
struct NegotiateRequest {
    uint32_t version{}; // 1
    uint64_t offered{}; // bits of the extensions that the guest can use
    uint64_t session{}; // random number of the guest's context, for joining the call records of both sides; 0: none
};

inline void write(Writer &writer, const NegotiateRequest &value) {
    writer.u32(value.version);
    writer.u64(value.offered);
    writer.u64(value.session);
}

inline bool read(Reader &reader, NegotiateRequest &value) {
    value = NegotiateRequest{};
    value.version = reader.u32();
    value.offered = reader.u64();
    value.session = reader.u64();
    return !reader.failed();
}

// Reply of call 64.
struct NegotiateReply {
    uint64_t accepted{}; // those bits of `offered` that the component or the host library has
};

inline void write(Writer &writer, const NegotiateReply &value) {
    writer.u64(value.accepted);
}

inline bool read(Reader &reader, NegotiateReply &value) {
    value = NegotiateReply{};
    value.accepted = reader.u64();
    return !reader.failed();
}

// Request of call 65. Carries out another call on the device that it names; reply and return code are that call's. Only calls that address a device need it: 2 to 9, 22, 66, 71 and 80 to 83. Handles say by themselves where they belong. Neither itself nor negotiate may be wrapped.
struct OnDeviceRequest {
    uint32_t device{}; // from 0, below what device_get_count says
    uint32_t call{}; // number of the call; its request follows
};

inline void write(Writer &writer, const OnDeviceRequest &value) {
    writer.u32(value.device);
    writer.u32(value.call);
}

inline bool read(Reader &reader, OnDeviceRequest &value) {
    value = OnDeviceRequest{};
    value.device = reader.u32();
    value.call = reader.u32();
    return !reader.failed();
}

// Reply of call 65.
struct OnDeviceReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const OnDeviceReply &value) {
}

inline bool read(Reader &reader, OnDeviceReply &value) {
    value = OnDeviceReply{};
    return !reader.failed();
}

// Request of call 66. As device_supports_op. Sources keep their places: one that is missing in between is told. The op's view_offs is told. Of its sources, whose view_src is not, it is 0 where it is a multiple of the alignment of the device's buffer type, and may be what is left of it by that where the alignment is a whole number of elements.
struct WideSupportsOpRequest {
    std::vector<WideTensorRecord> tensors{}; // the op first, then its view source and its sources in any order, found by id; at most 12
};

inline void write(Writer &writer, const WideSupportsOpRequest &value) {
    writer.u32(static_cast<uint32_t>(value.tensors.size()));
    for (const auto &item : value.tensors) write(writer, item);
}

inline bool read(Reader &reader, WideSupportsOpRequest &value) {
    value = WideSupportsOpRequest{};
    value.tensors.resize(reader.count(328));
    for (auto &item : value.tensors) read(reader, item);
    return !reader.failed();
}

// Reply of call 66.
struct WideSupportsOpReply {
    bool supported{}; // true: it can
};

inline void write(Writer &writer, const WideSupportsOpReply &value) {
    writer.boolean(value.supported);
}

inline bool read(Reader &reader, WideSupportsOpReply &value) {
    value = WideSupportsOpReply{};
    value.supported = reader.boolean();
    return !reader.failed();
}

// Request of call 67. As buffer_type_get_alloc_size.
struct WideGetAllocSizeRequest {
    uint64_t buft{}; // handle
    std::vector<WideTensorRecord> tensors{}; // as in wide_supports_op; where sources begin is not told
};

inline void write(Writer &writer, const WideGetAllocSizeRequest &value) {
    writer.u64(value.buft);
    writer.u32(static_cast<uint32_t>(value.tensors.size()));
    for (const auto &item : value.tensors) write(writer, item);
}

inline bool read(Reader &reader, WideGetAllocSizeRequest &value) {
    value = WideGetAllocSizeRequest{};
    value.buft = reader.u64();
    value.tensors.resize(reader.count(328));
    for (auto &item : value.tensors) read(reader, item);
    return !reader.failed();
}

// Reply of call 67.
struct WideGetAllocSizeReply {
    uint64_t size{}; // bytes
};

inline void write(Writer &writer, const WideGetAllocSizeReply &value) {
    writer.u64(value.size);
}

inline bool read(Reader &reader, WideGetAllocSizeReply &value) {
    value = WideGetAllocSizeReply{};
    value.size = reader.u64();
    return !reader.failed();
}

// Request of call 68. As buffer_set_tensor.
struct WideSetTensorRequest {
    uint64_t buffer{}; // handle
    WideTensorRecord tensor{}; // where to
    uint32_t resource{}; // data resource
    uint64_t offset{}; // within the tensor, in bytes
    uint64_t size{}; // bytes
};

inline void write(Writer &writer, const WideSetTensorRequest &value) {
    writer.u64(value.buffer);
    write(writer, value.tensor);
    writer.u32(value.resource);
    writer.u64(value.offset);
    writer.u64(value.size);
}

inline bool read(Reader &reader, WideSetTensorRequest &value) {
    value = WideSetTensorRequest{};
    value.buffer = reader.u64();
    read(reader, value.tensor);
    value.resource = reader.u32();
    value.offset = reader.u64();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 68.
struct WideSetTensorReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const WideSetTensorReply &value) {
}

inline bool read(Reader &reader, WideSetTensorReply &value) {
    value = WideSetTensorReply{};
    return !reader.failed();
}

// Request of call 69. As buffer_get_tensor.
struct WideGetTensorRequest {
    uint64_t buffer{}; // handle
    WideTensorRecord tensor{}; // where from
    uint32_t resource{}; // data resource
    uint64_t offset{}; // within the tensor, in bytes
    uint64_t size{}; // bytes
};

inline void write(Writer &writer, const WideGetTensorRequest &value) {
    writer.u64(value.buffer);
    write(writer, value.tensor);
    writer.u32(value.resource);
    writer.u64(value.offset);
    writer.u64(value.size);
}

inline bool read(Reader &reader, WideGetTensorRequest &value) {
    value = WideGetTensorRequest{};
    value.buffer = reader.u64();
    read(reader, value.tensor);
    value.resource = reader.u32();
    value.offset = reader.u64();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 69.
struct WideGetTensorReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const WideGetTensorReply &value) {
}

inline bool read(Reader &reader, WideGetTensorReply &value) {
    value = WideGetTensorReply{};
    return !reader.failed();
}

// Request of call 70. As buffer_cpy_tensor.
struct WideCpyTensorRequest {
    uint64_t buffer{}; // handle of the destination's buffer
    WideTensorRecord source{}; // where from
    WideTensorRecord destination{}; // where to
};

inline void write(Writer &writer, const WideCpyTensorRequest &value) {
    writer.u64(value.buffer);
    write(writer, value.source);
    write(writer, value.destination);
}

inline bool read(Reader &reader, WideCpyTensorRequest &value) {
    value = WideCpyTensorRequest{};
    value.buffer = reader.u64();
    read(reader, value.source);
    read(reader, value.destination);
    return !reader.failed();
}

// Reply of call 70.
struct WideCpyTensorReply {
    bool copied{}; // false: the guest has to copy by itself
};

inline void write(Writer &writer, const WideCpyTensorReply &value) {
    writer.boolean(value.copied);
}

inline bool read(Reader &reader, WideCpyTensorReply &value) {
    value = WideCpyTensorReply{};
    value.copied = reader.boolean();
    return !reader.failed();
}

// Request of call 71. As backend_graph_compute.
struct WideGraphComputeRequest {
    uint32_t resource{}; // data resource with a `wide_graph`
    uint64_t size{}; // bytes of it
};

inline void write(Writer &writer, const WideGraphComputeRequest &value) {
    writer.u32(value.resource);
    writer.u64(value.size);
}

inline bool read(Reader &reader, WideGraphComputeRequest &value) {
    value = WideGraphComputeRequest{};
    value.resource = reader.u32();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 71.
struct WideGraphComputeReply {
    int32_t status{}; // graph_status
};

inline void write(Writer &writer, const WideGraphComputeReply &value) {
    writer.i32(value.status);
}

inline bool read(Reader &reader, WideGraphComputeReply &value) {
    value = WideGraphComputeReply{};
    value.status = reader.i32();
    return !reader.failed();
}

// Request of call 72. Offers a command ring that the guest has laid out in a resource. The worker takes commands from it from this call's reply on, until the resource is closed. A context has at most one; a second is refused while there is one. Comes by EXECBUFFER.
struct RingCreateRequest {
    uint32_t resource{}; // shared resource, of at least ring_slots_offset + slots * slot_size bytes
    uint32_t slots{}; // a power of two from 2 to ring_most_slots
    uint32_t slot_size{}; // bytes of a slot, its header included; a multiple of 64 up to ring_largest_slot
};

inline void write(Writer &writer, const RingCreateRequest &value) {
    writer.u32(value.resource);
    writer.u32(value.slots);
    writer.u32(value.slot_size);
}

inline bool read(Reader &reader, RingCreateRequest &value) {
    value = RingCreateRequest{};
    value.resource = reader.u32();
    value.slots = reader.u32();
    value.slot_size = reader.u32();
    return !reader.failed();
}

// Reply of call 72.
struct RingCreateReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const RingCreateReply &value) {
}

inline bool read(Reader &reader, RingCreateReply &value) {
    value = RingCreateReply{};
    return !reader.failed();
}

// Request of call 73. The doorbell: wakes a worker that sleeps over its ring. Comes by EXECBUFFER, its reply resource is 0, and it gets no reply.
struct RingKickRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const RingKickRequest &value) {
}

inline bool read(Reader &reader, RingKickRequest &value) {
    value = RingKickRequest{};
    return !reader.failed();
}

// Reply of call 73.
struct RingKickReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const RingKickReply &value) {
}

inline bool read(Reader &reader, RingKickReply &value) {
    value = RingKickReply{};
    return !reader.failed();
}

// Request of call 80. As backend_graph_compute or wide_graph_compute, and the host keeps the graph for graph_run.
struct GraphKeepRequest {
    uint32_t resource{}; // data resource with a `graph` or a `wide_graph`
    uint64_t size{}; // bytes of it
    bool wide{}; // true: a `wide_graph`
    std::vector<uint64_t> dropped{}; // graphs that the guest has no more use for; numbers of none are ignored
};

inline void write(Writer &writer, const GraphKeepRequest &value) {
    writer.u32(value.resource);
    writer.u64(value.size);
    writer.boolean(value.wide);
    writer.u32(static_cast<uint32_t>(value.dropped.size()));
    for (const auto &item : value.dropped) writer.u64(item);
}

inline bool read(Reader &reader, GraphKeepRequest &value) {
    value = GraphKeepRequest{};
    value.resource = reader.u32();
    value.size = reader.u64();
    value.wide = reader.boolean();
    value.dropped.resize(reader.count(8));
    for (auto &item : value.dropped) item = reader.u64();
    return !reader.failed();
}

// Reply of call 80.
struct GraphKeepReply {
    int32_t status{}; // graph_status
    uint64_t graph{}; // its number, never given twice; 0: not kept
};

inline void write(Writer &writer, const GraphKeepReply &value) {
    writer.i32(value.status);
    writer.u64(value.graph);
}

inline bool read(Reader &reader, GraphKeepReply &value) {
    value = GraphKeepReply{};
    value.status = reader.i32();
    value.graph = reader.u64();
    return !reader.failed();
}

// Request of call 81. Computes a kept graph again, on the device that it was kept for.
struct GraphRunRequest {
    uint64_t graph{}; // number
};

inline void write(Writer &writer, const GraphRunRequest &value) {
    writer.u64(value.graph);
}

inline bool read(Reader &reader, GraphRunRequest &value) {
    value = GraphRunRequest{};
    value.graph = reader.u64();
    return !reader.failed();
}

// Reply of call 81.
struct GraphRunReply {
    bool known{}; // false: there is no such graph any more and nothing was computed; the guest sends it whole
    int32_t status{}; // graph_status
};

inline void write(Writer &writer, const GraphRunReply &value) {
    writer.boolean(value.known);
    writer.i32(value.status);
}

inline bool read(Reader &reader, GraphRunReply &value) {
    value = GraphRunReply{};
    value.known = reader.boolean();
    value.status = reader.i32();
    return !reader.failed();
}

// Request of call 82. Changes records of a kept graph, checks the whole graph again and computes it. A change that is refused ends the kept graph.
struct GraphPatchRequest {
    uint64_t graph{}; // number
    uint32_t resource{}; // data resource with `graph_changes` or `wide_graph_changes`, as the graph was sent
    uint64_t size{}; // bytes of it
};

inline void write(Writer &writer, const GraphPatchRequest &value) {
    writer.u64(value.graph);
    writer.u32(value.resource);
    writer.u64(value.size);
}

inline bool read(Reader &reader, GraphPatchRequest &value) {
    value = GraphPatchRequest{};
    value.graph = reader.u64();
    value.resource = reader.u32();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 82.
struct GraphPatchReply {
    bool known{}; // false: there is no such graph any more and nothing was computed; the guest sends it whole
    int32_t status{}; // graph_status
};

inline void write(Writer &writer, const GraphPatchReply &value) {
    writer.boolean(value.known);
    writer.i32(value.status);
}

inline bool read(Reader &reader, GraphPatchReply &value) {
    value = GraphPatchReply{};
    value.known = reader.boolean();
    value.status = reader.i32();
    return !reader.failed();
}

// Request of call 83. What calls 2 to 5, 7, 8 and 10 to 12 say, of a device and its default buffer type.
struct DeviceSummaryRequest {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const DeviceSummaryRequest &value) {
}

inline bool read(Reader &reader, DeviceSummaryRequest &value) {
    value = DeviceSummaryRequest{};
    return !reader.failed();
}

// Reply of call 83.
struct DeviceSummaryReply {
    std::string name{}; // as call 2
    std::string description{}; // as call 3
    uint32_t type{}; // device_type
    uint64_t free{}; // bytes, now
    uint64_t total{}; // bytes
    bool buffer_from_host_ptr{}; // as call 8
    bool mmap_support{}; // as call 8
    uint64_t buft{}; // as call 7
    std::string buft_name{}; // as call 10
    uint64_t alignment{}; // as call 11
    uint64_t max_size{}; // as call 12
};

inline void write(Writer &writer, const DeviceSummaryReply &value) {
    writer.string(value.name);
    writer.string(value.description);
    writer.u32(value.type);
    writer.u64(value.free);
    writer.u64(value.total);
    writer.boolean(value.buffer_from_host_ptr);
    writer.boolean(value.mmap_support);
    writer.u64(value.buft);
    writer.string(value.buft_name);
    writer.u64(value.alignment);
    writer.u64(value.max_size);
}

inline bool read(Reader &reader, DeviceSummaryReply &value) {
    value = DeviceSummaryReply{};
    value.name = reader.string(max_string);
    value.description = reader.string(max_string);
    value.type = reader.u32();
    value.free = reader.u64();
    value.total = reader.u64();
    value.buffer_from_host_ptr = reader.boolean();
    value.mmap_support = reader.boolean();
    value.buft = reader.u64();
    value.buft_name = reader.string(max_string);
    value.alignment = reader.u64();
    value.max_size = reader.u64();
    return !reader.failed();
}

// Request of call 84. Carries out several calls, one after the other, up to the first that fails, whose return code is this call's. The reply is the last one's; the others' are dropped. Ours has room for 24 bytes of a reply that is dropped: a call with a longer one fails, and the batch with it.
struct BatchRequest {
    uint32_t count{}; // calls, at least 1; as many times a `batched_call` and its request follow
};

inline void write(Writer &writer, const BatchRequest &value) {
    writer.u32(value.count);
}

inline bool read(Reader &reader, BatchRequest &value) {
    value = BatchRequest{};
    value.count = reader.u32();
    return !reader.failed();
}

// Reply of call 84.
struct BatchReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const BatchReply &value) {
}

inline bool read(Reader &reader, BatchReply &value) {
    value = BatchReply{};
    return !reader.failed();
}

// Request of call 85. As buffer_set_tensor, with the bytes in the command.
struct SetTensorInlineRequest {
    uint64_t buffer{}; // handle
    TensorRecord tensor{}; // where to
    uint64_t offset{}; // within the tensor, in bytes
    uint64_t size{}; // bytes, which follow, padded
};

inline void write(Writer &writer, const SetTensorInlineRequest &value) {
    writer.u64(value.buffer);
    write(writer, value.tensor);
    writer.u64(value.offset);
    writer.u64(value.size);
}

inline bool read(Reader &reader, SetTensorInlineRequest &value) {
    value = SetTensorInlineRequest{};
    value.buffer = reader.u64();
    read(reader, value.tensor);
    value.offset = reader.u64();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 85.
struct SetTensorInlineReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const SetTensorInlineReply &value) {
}

inline bool read(Reader &reader, SetTensorInlineReply &value) {
    value = SetTensorInlineReply{};
    return !reader.failed();
}

// Request of call 86. As wide_set_tensor, the bytes out of a pipe that the guest fills from when it sends this call on. The reply comes when all were taken.
struct PipeSetTensorRequest {
    uint64_t buffer{}; // handle
    WideTensorRecord tensor{}; // where to
    uint32_t resource{}; // data resource with the pipe, both of its words 0
    uint32_t area{}; // where the pipe's area begins in the resource: pipe_words_size or more
    uint32_t room{}; // bytes of the area, at least 1: byte n of the transfer lies at area + n % room
    uint64_t offset{}; // within the tensor, in bytes
    uint64_t size{}; // bytes, at most pipe_largest
};

inline void write(Writer &writer, const PipeSetTensorRequest &value) {
    writer.u64(value.buffer);
    write(writer, value.tensor);
    writer.u32(value.resource);
    writer.u32(value.area);
    writer.u32(value.room);
    writer.u64(value.offset);
    writer.u64(value.size);
}

inline bool read(Reader &reader, PipeSetTensorRequest &value) {
    value = PipeSetTensorRequest{};
    value.buffer = reader.u64();
    read(reader, value.tensor);
    value.resource = reader.u32();
    value.area = reader.u32();
    value.room = reader.u32();
    value.offset = reader.u64();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 86.
struct PipeSetTensorReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const PipeSetTensorReply &value) {
}

inline bool read(Reader &reader, PipeSetTensorReply &value) {
    value = PipeSetTensorReply{};
    return !reader.failed();
}

// Request of call 87. As wide_get_tensor, the bytes into a pipe that the guest empties from when it sends this call on. The reply comes when all were put in.
struct PipeGetTensorRequest {
    uint64_t buffer{}; // handle
    WideTensorRecord tensor{}; // where from
    uint32_t resource{}; // as in pipe_set_tensor
    uint32_t area{}; // as in pipe_set_tensor
    uint32_t room{}; // as in pipe_set_tensor
    uint64_t offset{}; // within the tensor, in bytes
    uint64_t size{}; // bytes, at most pipe_largest
};

inline void write(Writer &writer, const PipeGetTensorRequest &value) {
    writer.u64(value.buffer);
    write(writer, value.tensor);
    writer.u32(value.resource);
    writer.u32(value.area);
    writer.u32(value.room);
    writer.u64(value.offset);
    writer.u64(value.size);
}

inline bool read(Reader &reader, PipeGetTensorRequest &value) {
    value = PipeGetTensorRequest{};
    value.buffer = reader.u64();
    read(reader, value.tensor);
    value.resource = reader.u32();
    value.area = reader.u32();
    value.room = reader.u32();
    value.offset = reader.u64();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 87.
struct PipeGetTensorReply {
};

inline void write([[maybe_unused]] Writer &writer, [[maybe_unused]] const PipeGetTensorReply &value) {
}

inline bool read(Reader &reader, PipeGetTensorReply &value) {
    value = PipeGetTensorReply{};
    return !reader.failed();
}

// Request of call 88. As buffer_type_alloc_buffer, and then as buffer_get_base.
struct AllocWithBaseRequest {
    uint64_t buft{}; // handle
    uint64_t size{}; // bytes
};

inline void write(Writer &writer, const AllocWithBaseRequest &value) {
    writer.u64(value.buft);
    writer.u64(value.size);
}

inline bool read(Reader &reader, AllocWithBaseRequest &value) {
    value = AllocWithBaseRequest{};
    value.buft = reader.u64();
    value.size = reader.u64();
    return !reader.failed();
}

// Reply of call 88.
struct AllocWithBaseReply {
    uint64_t buffer{}; // handle; 0: no memory
    uint64_t base{}; // address of the buffer's first byte, as buffer_get_base tells it; 0 where there is no buffer
};

inline void write(Writer &writer, const AllocWithBaseReply &value) {
    writer.u64(value.buffer);
    writer.u64(value.base);
}

inline bool read(Reader &reader, AllocWithBaseReply &value) {
    value = AllocWithBaseReply{};
    value.buffer = reader.u64();
    value.base = reader.u64();
    return !reader.failed();
}

} // namespace apir
